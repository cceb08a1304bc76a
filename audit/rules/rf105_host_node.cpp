// RF105: host nodes. The device waits for a host thread in the middle of a replay.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {

void check_rf105(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF105")) return;
  for (const GraphView& graph_view : view.graphs()) {
    const auto nodes = nodes_of_kind(graph_view.graph(), NodeKind::host);
    if (nodes.empty()) continue;
    Finding finding = new_finding("RF105", graph_view, Certainty::proven);
    finding.count = nodes.size();
    finding.nodes = nodes;
    finding.where = place(graph_view, nodes);
    finding.message = fmt::format(
        "{} host node{}: each replay waits there for a thread of the host, with the jitter of its scheduler, and the "
        "function's argument is the pointer of capture time",
        nodes.size(), nodes.size() == 1 ? "" : "s");
    finding.fix =
        "take the callback out of the captured region (cudaLaunchHostFunc after the launch), or let a kernel write "
        "to mapped memory that the host polls";
    report.add(std::move(finding), std::vector<std::string>{"host"});
  }
}

}  // namespace refrain
