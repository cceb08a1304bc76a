// RF404: a node is handed an address that neither the runtime nor the driver knows:
// no allocation of the process covers it. Graphs that a runtime recorded say so
// (a buffer of space `unknown`); other inputs can't tell. Pageable host memory is
// such an address too for all but a copy, whose driver stages it (rule 103).
#include <fmt/format.h>

#include <map>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

struct Doubt {
  std::vector<NodeId> nodes;
  bool writes = false;
};

bool is_out_of_reach(const Node& node, const Buffer& buffer) {
  if (buffer.space == MemorySpace::pageable) return node.kind == NodeKind::kernel || node.kind == NodeKind::memset;
  return buffer.space == MemorySpace::unknown;
}

std::map<BufferId, Doubt> doubts_of(const Graph& graph) {
  std::map<BufferId, Doubt> doubts;
  for (NodeId id = 0; id < graph.nodes.size(); ++id)
    for (const NodeAccess& access : graph.nodes[id].accesses) {
      if (!is_out_of_reach(graph.nodes[id], graph.buffers[access.buffer])) continue;
      Doubt& doubt = doubts[access.buffer];
      doubt.writes = doubt.writes || access.mode != Mode::read;
      if (doubt.nodes.empty() || doubt.nodes.back() != id) doubt.nodes.push_back(id);
    }
  return doubts;
}

void report_doubt(const GraphView& view, BufferId id, const Doubt& doubt, Report& report) {
  const Graph& graph = view.graph();
  const Buffer& buffer = graph.buffers[id];
  const std::string name = name_of(graph, id), node = describe(graph, doubt.nodes.front());
  Finding finding = new_finding("RF404", view, Certainty::contract);
  finding.count = doubt.nodes.size();
  finding.nodes = doubt.nodes;
  finding.where = place(view, doubt.nodes, {name});
  finding.message =
      fmt::format("{} {} {} bytes at 0x{:x}, which {}: a replay faults, or {} whatever comes to lie there", node,
                  doubt.writes ? "writes" : "reads", buffer.bytes, buffer.base,
                  buffer.space == MemorySpace::pageable ? "are pageable host memory" : "no allocation covers",
                  doubt.writes ? "overwrites" : "reads");
  if (buffer.space == MemorySpace::pageable)
    finding.evidence.push_back(
        "a device reaches pageable memory only where the kernel of the system shares its page tables (HMM, ATS)");
  if (doubt.nodes.size() > 1)
    finding.evidence.push_back(
        fmt::format("{} nodes are handed it: {}", doubt.nodes.size(), list_nodes(graph, doubt.nodes)));
  finding.fix = fmt::format(
      "hand {} memory of the arena or of the driver, and keep it for as long as a graph exec names it; host memory "
      "must "
      "be pinned or registered",
      node);
  std::vector<std::string> names;
  for (const NodeId n : doubt.nodes) names.push_back(name_of(graph.nodes[n]));
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf404(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF404")) return;
  tell_unknown_nodes(view, report, "RF404");
  for (const GraphView& graph : view.graphs())
    for (const auto& [buffer, doubt] : doubts_of(graph.graph())) report_doubt(graph, buffer, doubt, report);
}

}  // namespace refrain
