// What comes again and again in a sequence of tokens: the longest stretch that
// repeats with one period, and where a pattern occurs. The period is looked for in
// a bounded part of the sequence, so the cost is linear in its length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace refrain {

/// Whole repetitions, fewer are no loop.
inline constexpr std::size_t kFewestRepeats = 3;

struct Repeat {
  std::size_t start = 0;   ///< of the longest stretch
  std::size_t period = 0;  ///< the shortest that covers so much
  std::size_t length = 0;  ///< of the stretch, at least kFewestRepeats periods
};

/// A period of over 40,000 tokens is not found.
[[nodiscard]] std::optional<Repeat> find_repeat(std::span<const std::uint64_t> tokens);

/// Starts of the pattern, from the left, none overlapping the one before.
[[nodiscard]] std::vector<std::size_t> occurrences(std::span<const std::uint64_t> tokens,
                                                   std::span<const std::uint64_t> pattern);

}  // namespace refrain
