// RF204: a node that reads an E4M3 KV pool and leaves its partial results in half
// precision. The workspace was most likely cached without the KV dtype in its key.
#include <fmt/format.h>

#include <map>

#include "audit/fact_mask.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

Dtype dtype_of(const Graph& graph, const NodeAccess& access) {
  return access.dtype != Dtype::unknown ? access.dtype : graph.buffers[access.buffer].dtype;
}

bool reads_e4m3_pool(const Graph& graph, const Node& node) {
  for (const NodeAccess& access : node.accesses)
    if (access.role == Role::kv_pool && reads(access.mode) && dtype_of(graph, access) == Dtype::e4m3) return true;
  return false;
}

bool is_half_workspace(const Graph& graph, const NodeAccess& access) {
  const Dtype dtype = dtype_of(graph, access);
  return access.role == Role::workspace && access.mode != Mode::read && (dtype == Dtype::fp16 || dtype == Dtype::bf16);
}

void report_buffer(const GraphView& view, Report& report, BufferId buffer, Dtype dtype,
                   const std::vector<NodeId>& nodes) {
  const Graph& graph = view.graph();
  const std::string name = name_of(graph, buffer);
  Finding finding = new_finding("RF204", view, Certainty::contract);
  finding.count = nodes.size();
  finding.nodes = nodes;
  finding.where = place(view, nodes, {name});
  finding.message = fmt::format(
      "{} reads an E4M3 KV pool and writes its partial results to {} as {}: E4M3 needs fp32 partials, native code "
      "refuses "
      "anything else, and where it does not the sums lose their low bits",
      describe(graph, nodes.front()), name, to_string(dtype));
  finding.fix =
      "allocate the workspace as fp32 and key it by the KV dtype, so that an fp16 one is never handed out for E4M3";
  std::vector<std::string> names = {name, to_string(dtype)};
  for (const NodeId node : nodes) names.push_back(name_of(graph.nodes[node]));
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf204(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF204")) return;
  tell_unknown_nodes(view, report, "RF204");
  for (const GraphView& graph_view : view.graphs()) {
    const Graph& graph = graph_view.graph();
    std::map<std::pair<BufferId, Dtype>, std::vector<NodeId>> wrong;
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.nodes[id];
      if (!reads_e4m3_pool(graph, node)) continue;
      for (const NodeAccess& access : node.accesses) {
        if (!is_half_workspace(graph, access)) continue;
        auto& nodes = wrong[{access.buffer, dtype_of(graph, access)}];
        if (nodes.empty() || nodes.back() != id) nodes.push_back(id);
      }
    }
    for (const auto& [key, nodes] : wrong) report_buffer(graph_view, report, key.first, key.second, nodes);
  }
}

}  // namespace refrain
