// RF604: a graph that spreads into more parallel kernels than a device can hold
// at once. The width is taken at one depth of the graph: nodes whose longest path
// from a root is equally long have no order among them, so it is never too high.
#include <fmt/format.h>

#include <algorithm>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

// Grids that can be resident on one device: 128 for every compute capability from 7.0 on but 7.2 (CUDA programming
// guide, technical specifications).
constexpr std::size_t kResidentGrids = 128;

/// The kernels of the widest depth.
std::vector<NodeId> widest(const Graph& graph, const Topology& topology) {
  std::vector<std::uint32_t> depth(graph.nodes.size(), 0);
  std::vector<std::size_t> width(graph.nodes.size(), 0);
  for (const NodeId node : topology.order()) {
    for (const NodeId before : topology.predecessors(node)) depth[node] = std::max(depth[node], depth[before] + 1);
    if (graph.nodes[node].kind == NodeKind::kernel) ++width[depth[node]];
  }
  const auto most = static_cast<std::uint32_t>(std::max_element(width.begin(), width.end()) - width.begin());
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    if (graph.nodes[node].kind == NodeKind::kernel && depth[node] == most) nodes.push_back(node);
  return nodes;
}

}  // namespace

void check_rf604(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF604")) return;
  for (const GraphView& graph_view : view.graphs()) {
    if (graph_view.graph().nodes.size() <= kResidentGrids) continue;
    const auto nodes = widest(graph_view.graph(), graph_view.topology());
    if (nodes.size() <= kResidentGrids) continue;
    Finding finding = new_finding("RF604", graph_view, Certainty::proven);
    finding.count = nodes.size();
    finding.nodes = nodes;
    finding.where = place(graph_view, nodes);
    finding.message = fmt::format(
        "{} kernels have no order among them, and a device holds {} grids at once: the branches beyond that buy no "
        "overlap, and each fork and join makes the launch dearer",
        nodes.size(), kResidentGrids);
    finding.fix = "put the branches on a few streams, or make one kernel of them whose grid covers them all";
    report.add(std::move(finding), std::vector<std::string>{name_of(graph_view.graph().nodes[nodes.front()])});
  }
}

}  // namespace refrain
