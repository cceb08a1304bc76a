// Which step each call of a timeline belongs to: the innermost that its own thread
// has open, outside any capture of that thread. What other threads did at the same
// time is no part of a step. Borrows from the timeline.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/timeline.hpp"

namespace refrain {

struct StepIndex {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<const RangeEvent*> steps;  ///< in the order in which they begin, an outer one before what it holds
  std::vector<std::uint32_t> of_call;    ///< for each of Timeline::calls: an index into `steps`, or kNone
};

[[nodiscard]] StepIndex index_steps(const Timeline& timeline);

}  // namespace refrain
