// Copies inside replays that a profiler saw at work, for inputs that hold no
// description of the graphs: where one is, its copy nodes say the same and more.
#pragma once

#include <string_view>

#include "audit/report.hpp"
#include "traces/recording.hpp"

namespace refrain {

/// Adds a finding of `rule` for each graph exec whose replays copied from or to pageable host memory; it names the
/// range in which the copies were captured, where the input tells.
void report_replayed_copies(const Recording& recording, Report& report, std::string_view rule);

}  // namespace refrain
