// How many rows a step was padded to and how many of them were in use, where the
// name of the step, or of a range inside it, says so: `bucket 8`, `5 rows`.
#pragma once

#include <span>

#include "traces/step_stats.hpp"

namespace refrain {

/// Sets rows and real_rows. The step's own name counts before that of a range inside, an outer range's before an
/// inner's.
void tell_rows(const Timeline& timeline, std::span<StepStats> steps);

}  // namespace refrain
