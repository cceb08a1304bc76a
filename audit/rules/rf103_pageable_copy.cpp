// RF103: copy nodes with one end in pageable host memory. Where that end is a
// plan, a workspace or a scratch built on the host, rule 205 says so instead.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/host_built.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

std::string describe_copy(const Graph& graph, NodeId node) {
  const CopyInfo& copy = *graph.nodes[node].copy;
  return fmt::format("{}: {} bytes, {} to {}", describe(graph, node), copy.bytes, to_string(copy.src_space),
                     to_string(copy.dst_space));
}

void report_copies(const GraphView& view, Report& report, const std::vector<NodeId>& nodes) {
  constexpr std::size_t kShown = 4;
  const Graph& graph = view.graph();
  Finding finding = new_finding("RF103", view, Certainty::proven);
  finding.count = nodes.size();
  finding.nodes = nodes;
  finding.where = place(view, nodes);
  finding.message = fmt::format(
      "{} cop{} pageable host memory: the host address is baked into the graph, every launch stalls to stage the "
      "bytes, "
      "and a replay touches whatever lies there by then",
      nodes.size(), nodes.size() == 1 ? "y uses" : "ies use");
  for (std::size_t i = 0; i < nodes.size() && i < kShown; ++i)
    finding.evidence.push_back(describe_copy(graph, nodes[i]));
  if (nodes.size() > kShown) finding.evidence.push_back(fmt::format("and {} more", nodes.size() - kShown));
  finding.fix =
      "copy from or to pinned memory that lives as long as the graph (cudaMallocHost), or keep the data on the device";
  std::vector<std::string> names;
  for (const NodeId node : nodes) names.push_back(to_string(graph.nodes[node].copy->dst_space));
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf103(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF103")) return;
  for (const GraphView& graph_view : view.graphs()) {
    const Graph& graph = graph_view.graph();
    std::vector<NodeId> pageable;
    std::size_t hidden = 0;
    for (const NodeId node : nodes_of_kind(graph, NodeKind::memcpy)) {
      const auto& copy = graph.nodes[node].copy;
      if (!copy || copy->src_space == MemorySpace::unknown || copy->dst_space == MemorySpace::unknown) ++hidden;
      if (!copy || filled_from_host(graph, node)) continue;
      if (copy->src_space == MemorySpace::pageable || copy->dst_space == MemorySpace::pageable)
        pageable.push_back(node);
    }
    if (!pageable.empty()) report_copies(graph_view, report, pageable);
    if (hidden > 0)
      report.not_checked("RF103", fmt::format("{}: the input does not say what kind of memory {} cop{}",
                                              place(graph_view), hidden, hidden == 1 ? "y uses" : "ies use"));
  }
}

}  // namespace refrain
