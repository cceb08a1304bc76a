// RF606: child and conditional nodes whose bodies are not in the input: what they
// do was not audited.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {

void check_rf606(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF606")) return;
  for (const GraphView& graph_view : view.graphs()) {
    const Graph& graph = graph_view.graph();
    std::vector<NodeId> opaque;
    for (NodeId node = 0; node < graph.nodes.size(); ++node) {
      const NodeKind kind = graph.nodes[node].kind;
      if ((kind == NodeKind::child || kind == NodeKind::conditional) && graph.nodes[node].bodies.empty())
        opaque.push_back(node);
    }
    if (opaque.empty()) continue;
    Finding finding = new_finding("RF606", graph_view, Certainty::proven);
    finding.count = opaque.size();
    finding.nodes = opaque;
    finding.where = place(graph_view, opaque);
    finding.message = fmt::format("the input does not show what {} do{}: none of it was audited",
                                  list_nodes(graph, opaque), opaque.size() == 1 ? "es" : "");
    finding.fix = "audit a DOT dump (cudaGraphDebugDotPrint): it holds the bodies, which CUDA 13.0 has no call for";
    std::vector<std::string> names;
    for (const NodeId node : opaque) names.push_back(to_string(graph.nodes[node].kind));
    report.add(std::move(finding), names);
  }
}

}  // namespace refrain
