// Steps of a trace that names none, told from what its threads did again and
// again: graph replays, else sequences of calls. A guess is made only where it
// explains most of what the thread did, and never over a capture, whose loop over
// the buckets looks like serving. Its cuts lie where the host waited, so that the wait
// at a step's end is not taken for one in its middle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "traces/timeline.hpp"

namespace refrain {

struct GuessedStep {
  std::uint32_t thread = 0;
  std::size_t first = 0, last = 0;  ///< indices of calls
  std::uint64_t end_ns = 0;         ///< where the next step begins, if it follows at once
};

/// From one replay of a loop, or group of replays, to the next.
[[nodiscard]] std::vector<GuessedStep> guess_by_replays(const Timeline& timeline);
/// From one round of a loop of calls to the next.
[[nodiscard]] std::vector<GuessedStep> guess_by_period(const Timeline& timeline);

}  // namespace refrain
