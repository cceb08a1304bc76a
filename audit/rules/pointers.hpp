// Pointers of a graph that lead into memory which was freed: what rules 206, 401,
// 402 and 403 share. Host memory of a copy is 403's, a workspace that was grown
// 206's, whatever lies there now; of the rest, 401 reports those that lead
// nowhere, 402 those that lead into another allocation at the same address.
#pragma once

#include <string_view>
#include <vector>

#include "audit/graph_lives.hpp"
#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

/// `host`: of a copy or a callback, into host memory; rule 403's.
enum class PointerFault : std::uint8_t { stale, reused, grown, host };

/// The larger buffer that took the place of `dead`, a workspace, scratch or plan that was freed: same name, born
/// later, and there when it died. Of the recording's buffers or the graph's own; null when there is none.
[[nodiscard]] const Buffer* grown_into(const GraphView& view, const Buffer& dead);
[[nodiscard]] inline bool was_grown(const GraphView& view, const Buffer& dead) {
  return grown_into(view, dead) != nullptr;
}

/// The copies that rule 403 reports, so that rule 103 leaves them to it. `life` may be null.
[[nodiscard]] std::vector<NodeId> dead_host_copies(const GraphView& view, const GraphLife* life);

void report_pointers(const SubjectView& view, Report& report, std::string_view rule, PointerFault fault);

}  // namespace refrain
