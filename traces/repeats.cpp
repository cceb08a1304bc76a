#include "traces/repeats.hpp"

#include <algorithm>
#include <unordered_map>

namespace refrain {
namespace {

using Tokens = std::span<const std::uint64_t>;

constexpr std::size_t kLookedAt = std::size_t{1} << 17;  // tokens: three periods of 40,000
constexpr std::size_t kTried = 16;                       // distances of a window's length, by either measure

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e37'79b9'7f4a'7c15 ^ (b + 0x632b'e59b'd9b4'e019 + (a << 6));
  x ^= x >> 31;
  return x * 0xbf58'476d'1ce4'e5b9 ^ x >> 27;
}

/// A loop's period is the distance between a window and the same one before, where the window is long enough to come
/// once a round. An inner loop has more such pairs, so distances also count by how much they reach over.
void add_distances(Tokens windows, std::vector<std::size_t>& out) {
  std::unordered_map<std::uint64_t, std::size_t> last;
  std::unordered_map<std::size_t, std::size_t> count;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto [at, first] = last.try_emplace(windows[i], i);
    if (first) continue;
    ++count[i - at->second];
    at->second = i;
  }
  std::vector<std::pair<std::size_t, std::size_t>> distances(count.begin(), count.end());
  const auto take = [&](auto weight) {
    const std::size_t most = std::min(kTried, distances.size());
    std::partial_sort(
        distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(most), distances.end(),
        [&](const auto& a, const auto& b) { return std::pair(weight(b), a.first) < std::pair(weight(a), b.first); });
    for (std::size_t i = 0; i < most; ++i) out.push_back(distances[i].first);
  };
  take([](const auto& d) { return d.second; });
  take([](const auto& d) { return d.second * d.first; });
}

std::vector<std::size_t> candidates(Tokens tokens) {
  std::vector<std::size_t> out;
  std::vector<std::uint64_t> windows(tokens.begin(), tokens.end());
  for (std::size_t width = 1; !windows.empty(); width *= 4) {
    add_distances(windows, out);
    if (width >= 256 || windows.size() <= 3 * width) break;
    const std::size_t count = windows.size() - 3 * width;
    for (std::size_t i = 0; i < count; ++i)
      windows[i] = mix(mix(windows[i], windows[i + width]), mix(windows[i + 2 * width], windows[i + 3 * width]));
    windows.resize(count);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Repeat longest_stretch(Tokens tokens, std::size_t period) {
  Repeat best{0, period, 0};
  std::size_t run = 0;
  for (std::size_t i = period; i < tokens.size(); ++i) {
    run = tokens[i] == tokens[i - period] ? run + 1 : 0;
    if (run > 0 && run + period > best.length) best = {i + 1 - run - period, period, run + period};
  }
  return best;
}

}  // namespace

std::optional<Repeat> find_repeat(Tokens tokens) {
  const std::size_t looked_at = std::min(tokens.size(), kLookedAt);
  const Tokens part = tokens.subspan((tokens.size() - looked_at) / 2, looked_at);
  Repeat best;
  for (const std::size_t period : candidates(part)) {
    const Repeat found = longest_stretch(part, period);
    if (found.length >= kFewestRepeats * period && found.length > best.length) best = found;
  }
  if (best.length == 0) return std::nullopt;
  return longest_stretch(tokens, best.period);
}

// Knuth, Morris and Pratt's: linear also where the pattern repeats within itself.
std::vector<std::size_t> occurrences(Tokens tokens, Tokens pattern) {
  std::vector<std::size_t> found, border(pattern.size(), 0);
  if (pattern.empty()) return found;
  for (std::size_t i = 1, k = 0; i < pattern.size(); ++i) {
    while (k > 0 && pattern[i] != pattern[k]) k = border[k - 1];
    if (pattern[i] == pattern[k]) ++k;
    border[i] = k;
  }
  for (std::size_t i = 0, k = 0; i < tokens.size(); ++i) {
    while (k > 0 && tokens[i] != pattern[k]) k = border[k - 1];
    if (tokens[i] == pattern[k]) ++k;
    if (k < pattern.size()) continue;
    found.push_back(i + 1 - k);
    k = 0;
  }
  return found;
}

}  // namespace refrain
