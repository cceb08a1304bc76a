#include "runtime/engine/prompt_lookup.hpp"

#include <algorithm>

namespace refrain {
namespace {

std::uint64_t hash_of(std::span<const std::int32_t> tokens) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::int32_t token : tokens)
    hash = (hash ^ static_cast<std::uint32_t>(token)) * 0x9e3779b97f4a7c15ULL + (hash >> 32);
  return hash;
}

}  // namespace

/// The end itself is left for the next call: it would only find itself.
void PromptLookup::grown(std::span<const std::int32_t> tokens) {
  const std::span<const std::int32_t> before = tokens.first(tokens.size() - 1);
  for (std::size_t n = kShortest; n <= kLongest && n <= before.size(); ++n)
    after_[n - kShortest][hash_of(before.last(n))] = before.size();
}

std::vector<std::int32_t> PromptLookup::draft(std::span<const std::int32_t> tokens, std::int32_t most) const {
  for (std::size_t n = std::min(kLongest, tokens.size()); n >= kShortest; --n) {
    const std::span<const std::int32_t> end = tokens.last(n);
    const auto found = after_[n - kShortest].find(hash_of(end));
    if (found == after_[n - kShortest].end()) continue;
    const std::size_t at = found->second;
    if (!std::equal(end.begin(), end.end(), tokens.begin() + static_cast<std::ptrdiff_t>(at - n))) continue;
    const std::size_t count = std::min(static_cast<std::size_t>(std::max(0, most)), tokens.size() - at);
    const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(at);
    return {first, first + static_cast<std::ptrdiff_t>(count)};
  }
  return {};
}

}  // namespace refrain
