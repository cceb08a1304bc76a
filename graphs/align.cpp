#include "graphs/align.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace refrain {
namespace {

using Word = std::uint32_t;
using Matches = std::vector<std::pair<std::size_t, std::size_t>>;

/// Longest common subsequence by Myers' greedy walk: round d finds how far d differences reach on every diagonal.
class GreedyWalk {
 public:
  GreedyWalk(const std::vector<Word>& a, const std::vector<Word>& b)
      : a_(a),
        b_(b),
        offset_(static_cast<long>(a.size() + b.size()) + 1),
        reach_(2 * static_cast<std::size_t>(offset_) + 1, 0) {}

  /// Nothing past the limit.
  std::optional<Matches> run(std::size_t most_differences) {
    const long limit = static_cast<long>(std::min(a_.size() + b_.size(), most_differences));
    for (long d = 0; d <= limit; ++d) {
      trace_.emplace_back(reach_.begin() + (offset_ - d - 1), reach_.begin() + (offset_ + d + 2));
      for (long k = -d; k <= d; k += 2)
        if (extend(d, k)) return walk_back(d);
    }
    return std::nullopt;
  }

 private:
  long& at(long k) { return reach_[static_cast<std::size_t>(offset_ + k)]; }

  bool extend(long d, long k) {
    long x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
    while (x < static_cast<long>(a_.size()) && x - k < static_cast<long>(b_.size()) && same(x, x - k)) ++x;
    at(k) = x;
    return x >= static_cast<long>(a_.size()) && x - k >= static_cast<long>(b_.size());
  }

  [[nodiscard]] bool same(long x, long y) const {
    return a_[static_cast<std::size_t>(x)] == b_[static_cast<std::size_t>(y)];
  }

  Matches walk_back(long d) {
    Matches matches;
    long x = static_cast<long>(a_.size()), y = static_cast<long>(b_.size());
    for (; d >= 0; --d) {
      const std::vector<long>& before = trace_[static_cast<std::size_t>(d)];
      const auto reached = [&](long k) { return before[static_cast<std::size_t>(k + d + 1)]; };
      const long k = x - y;
      const long from = k == -d || (k != d && reached(k - 1) < reached(k + 1)) ? k + 1 : k - 1;
      const long start_x = d == 0 ? 0 : reached(from), start_y = d == 0 ? 0 : start_x - from;
      while (x > start_x && y > start_y && same(x - 1, y - 1)) matches.emplace_back(--x, --y);
      x = start_x;
      y = start_y;
    }
    std::reverse(matches.begin(), matches.end());
    return matches;
  }

  const std::vector<Word>& a_;
  const std::vector<Word>& b_;
  long offset_;
  std::vector<long> reach_;
  std::vector<std::vector<long>> trace_;  // reach before each round, diagonals -d-1..d+1
};

/// Candidates in the order of `a`; of these the longest run that rises in `b` too.
Matches longest_rising(const Matches& candidates) {
  std::vector<std::size_t> ends;  // of the best run of each length: the candidate that it ends with
  std::vector<std::size_t> previous(candidates.size(), candidates.size());
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto at = std::lower_bound(ends.begin(), ends.end(), candidates[i].second,
                                     [&](std::size_t end, std::size_t j) { return candidates[end].second < j; });
    if (at != ends.begin()) previous[i] = *(at - 1);
    if (at == ends.end())
      ends.push_back(i);
    else
      *at = i;
  }
  Matches run;
  for (std::size_t i = ends.empty() ? candidates.size() : ends.back(); i < candidates.size(); i = previous[i])
    run.push_back(candidates[i]);
  std::reverse(run.begin(), run.end());
  return run;
}

Matches by_occurrence(const std::vector<Word>& a, const std::vector<Word>& b) {
  std::unordered_map<Word, std::vector<std::size_t>> places;
  for (std::size_t j = 0; j < b.size(); ++j) places[b[j]].push_back(j);
  std::unordered_map<Word, std::size_t> seen;
  Matches candidates;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t turn = seen[a[i]]++;
    const auto at = places.find(a[i]);
    if (at != places.end() && turn < at->second.size()) candidates.emplace_back(i, at->second[turn]);
  }
  return longest_rising(candidates);
}

}  // namespace

Matches align(const std::vector<std::string>& a, const std::vector<std::string>& b, std::size_t most_differences) {
  std::unordered_map<std::string_view, Word> words;
  const auto numbered = [&](const std::vector<std::string>& texts) {
    std::vector<Word> list;
    for (const std::string& text : texts)
      list.push_back(words.emplace(text, static_cast<Word>(words.size())).first->second);
    return list;
  };
  const std::vector<Word> left = numbered(a), right = numbered(b);
  if (auto matches = GreedyWalk(left, right).run(most_differences)) return *std::move(matches);
  return by_occurrence(left, right);
}

}  // namespace refrain
