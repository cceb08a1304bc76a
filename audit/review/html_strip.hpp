// The steps of a review as a strip of bars, and the same as a table for those who
// read instead of look. A bar is as high as the step took on the host; its dark part
// is the time that the device was busy with it; a wedge above it leads to its findings.
#pragma once

#include <string>

#include "audit/review/page_plan.hpp"

namespace refrain {

/// The <section> `steps`.
[[nodiscard]] std::string html_strip(const Review& review, const PagePlan& plan);

}  // namespace refrain
