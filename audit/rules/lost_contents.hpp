// Contents that went with their memory: an arena that slept has the same addresses
// and other memory behind them. What was written once, before, holds no more, and a
// graph that reads it at a later launch reads whatever the new memory holds.
#pragma once

#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// Adds a finding of `rule` for each buffer whose entry fact says that it was written once, whose memory was unmapped
/// since, and which nothing wrote before the graph's next launch. Eager kernels in between may have: then it says so
/// under not_checked.
void report_lost_contents(const SubjectView& view, Report& report, std::string_view rule);

}  // namespace refrain
