// The one line that says why a graph is not to be had: the call that broke its capture,
// or the first error of its audit.
#pragma once

#include <string>

#include "audit/report.hpp"
#include "graphs/error.hpp"
#include "traces/recording.hpp"

namespace refrain {

/// Of the capture that the recording ends with: the call that broke it, when another call than the one that threw did.
[[nodiscard]] std::string first_violation(const Recording& recording, const Error& failure);
/// `RF304 pad-fix-missing, graph step, node 2 (grouped_attention)`; empty for a report without an error.
[[nodiscard]] std::string first_violation(const Report& report);

}  // namespace refrain
