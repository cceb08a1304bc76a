// One step of a review drawn in time, and the same as a table. Its thread's ranges
// and calls stand above the streams of the devices; a replay is a frame around its
// nodes. Findings are numbered marks at their time that lead to them.
#pragma once

#include <cstddef>
#include <string>

#include "audit/review/page_plan.hpp"

namespace refrain {

/// A <section> `timeline-N` of this step.
[[nodiscard]] std::string html_timeline(const Review& review, const PagePlan& plan, std::size_t step);

}  // namespace refrain
