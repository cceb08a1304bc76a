// RF202: allocation nodes: most often a library that was given no workspace.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

std::string sizes(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::uint64_t bytes = 0;
  std::size_t hidden = 0;
  for (const NodeId node : nodes) {
    const auto& allocation = graph.nodes[node].allocation;
    if (allocation && allocation->bytes > 0)
      bytes += allocation->bytes;
    else
      ++hidden;
  }
  if (hidden == nodes.size()) return "the input does not say how many bytes";
  if (hidden > 0) return fmt::format("{} bytes in all, and {} of unknown size", bytes, hidden);
  return fmt::format("{} bytes in all", bytes);
}

}  // namespace

void check_rf202(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF202")) return;
  for (const GraphView& graph_view : view.graphs()) {
    const Graph& graph = graph_view.graph();
    const auto nodes = nodes_of_kind(graph, NodeKind::mem_alloc);
    if (nodes.empty()) continue;
    Finding finding = new_finding("RF202", graph_view, Certainty::proven);
    finding.count = nodes.size();
    finding.nodes = nodes;
    finding.where = place(graph_view, nodes);
    finding.message = fmt::format(
        "{} allocation node{} ({}): the graph owns memory that nobody planned for, allows one instantiation at a time, "
        "and "
        "every capture of it adds more",
        nodes.size(), nodes.size() == 1 ? "" : "s", sizes(graph, nodes));
    finding.fix =
        "allocate before the capture and hand the memory in; for cuBLAS, give the handle a workspace with "
        "cublasSetWorkspace";
    report.add(std::move(finding), std::vector<std::string>{"mem_alloc"});
  }
}

}  // namespace refrain
