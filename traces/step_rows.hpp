// How many rows a step was padded to and how many of them were in use, where the
// step, or a range inside it, says so: by its payload (traces/row_payload.hpp) or
// by its name, `bucket 8`, `5 rows`.
#pragma once

#include <span>

#include "traces/step_stats.hpp"

namespace refrain {

/// Sets rows and real_rows of the steps of these ranges; neither where more would be in use than there are. The step's
/// own range counts before one inside, an outer one before an inner, a payload before the name.
void tell_rows(const Timeline& timeline, std::span<StepStats> steps, std::span<const RangeEvent* const> ranges);

}  // namespace refrain
