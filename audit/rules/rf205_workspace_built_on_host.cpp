// RF205: a plan, a workspace or a scratch that the host builds and copies in from
// pageable memory. A framework does this when it turns a host list into a device
// tensor; during capture it breaks the capture or bakes in a host address.
#include <fmt/format.h>

#include <map>

#include "audit/rules/checks.hpp"
#include "audit/rules/host_built.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

bool is_device_made(Role role) noexcept {
  return role == Role::plan || role == Role::workspace || role == Role::scratch;
}

}  // namespace

std::optional<BufferId> filled_from_host(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  if (node.kind != NodeKind::memcpy || !node.copy || node.copy->src_space != MemorySpace::pageable) return std::nullopt;
  for (const NodeAccess& access : node.accesses)
    if (access.mode != Mode::read && (is_device_made(access.role) || is_device_made(graph.buffers[access.buffer].role)))
      return access.buffer;
  if (node.copy->dst == 0) return std::nullopt;
  for (BufferId buffer = 0; buffer < graph.buffers.size(); ++buffer) {
    const Buffer& candidate = graph.buffers[buffer];
    if (is_device_made(candidate.role) && !candidate.died && candidate.base <= node.copy->dst &&
        node.copy->dst - candidate.base < candidate.bytes)
      return buffer;
  }
  return std::nullopt;
}

void check_rf205(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF205")) return;
  for (const GraphView& graph_view : view.graphs()) {
    const Graph& graph = graph_view.graph();
    std::map<BufferId, std::vector<NodeId>> copies;
    for (const NodeId node : nodes_of_kind(graph, NodeKind::memcpy))
      if (const auto buffer = filled_from_host(graph, node)) copies[*buffer].push_back(node);
    for (const auto& [buffer, nodes] : copies) {
      const std::string name = name_of(graph, buffer);
      Finding finding = new_finding("RF205", graph_view, Certainty::contract);
      finding.count = nodes.size();
      finding.nodes = nodes;
      finding.where = place(graph_view, nodes, {name});
      finding.message = fmt::format(
          "{} fills {} from pageable host memory: the graph holds a raw host address, every replay reads again what "
          "lies "
          "there, and the launch waits for it",
          describe(graph, nodes.front()), name);
      finding.fix = fmt::format("fill {} on the device: a kernel or cudaMemsetAsync on the capturing stream", name);
      report.add(std::move(finding), std::vector<std::string>{name});
    }
  }
}

}  // namespace refrain
