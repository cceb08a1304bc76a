// Which elements of two sequences are the same: a common subsequence, the
// longest one while the sequences are alike. It knows words, not graphs.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace refrain {

/// Time and memory of the search for the longest grow with the square of this.
inline constexpr std::size_t kMostDifferences = 2000;

/// Pairs (index in `a`, index in `b`) of equal words, both rising. The most that there can be where no more than
/// `most_differences` elements are without a partner; else, in n log n, a good choice: of the pairs of each word's
/// k-th occurrences those that keep the order.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> align(const std::vector<std::string>& a,
                                                                     const std::vector<std::string>& b,
                                                                     std::size_t most_differences = kMostDifferences);

}  // namespace refrain
