// RF310: a node writes bytes that are kept back for ever, such as the null block
// of a KV pool: padding points there, so what it holds reaches every padded row of
// every step.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/range_set.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

struct Hit {
  std::vector<NodeId> nodes;
  RangeSet bytes;
  bool exact = false;  ///< of the first node
  Certainty certainty = Certainty::contract;
};

std::map<BufferId, Hit> hits_of(const Graph& graph) {
  std::map<BufferId, Hit> hits;
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    for (const NodeAccess& access : graph.nodes[node].accesses) {
      const ByteRange reserved = graph.buffers[access.buffer].reserved;
      if (access.mode == Mode::read || !access.range.overlaps(reserved)) continue;
      Hit& hit = hits[access.buffer];
      if (hit.nodes.empty()) {
        hit.exact = access.reach == Reach::exact;
        hit.certainty = access.certainty;
      }
      if (hit.nodes.empty() || hit.nodes.back() != node) hit.nodes.push_back(node);
      hit.bytes.add(intersection(access.range, reserved));
    }
  return hits;
}

void report_hit(const GraphView& view, BufferId buffer, const Hit& hit, Report& report) {
  const Graph& graph = view.graph();
  const std::string name = name_of(graph, buffer);
  Finding finding = new_finding("RF310", view, hit.certainty);
  finding.count = hit.nodes.size();
  finding.nodes = hit.nodes;
  finding.where = place(view, hit.nodes, {name});
  finding.message = fmt::format(
      "{} {} {} of {}, which are reserved and must never be written: padding points there, and reaches real rows with "
      "what they hold",
      describe(graph, hit.nodes.front()), hit.exact ? "writes" : "may write, through an index,",
      bytes_of(hull(hit.bytes.ranges())), name);
  finding.evidence.push_back(fmt::format("{} of {} are reserved", bytes_of(graph.buffers[buffer].reserved), name));
  if (hit.nodes.size() > 1)
    finding.evidence.push_back(fmt::format("{} nodes write there: {}", hit.nodes.size(), list_nodes(graph, hit.nodes)));
  finding.fix = fmt::format(
      "let pad rows write nothing in {}: give them the slot -1 and skip it, instead of slot 0; and bound the "
      "contract's "
      "range to the bytes past the reserved ones",
      describe(graph, hit.nodes.front()));
  std::vector<std::string> names = {name};
  for (const NodeId node : hit.nodes) names.push_back(name_of(graph.nodes[node]));
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf310(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF310")) return;
  tell_unknown_nodes(view, report, "RF310");
  for (const GraphView& graph_view : view.graphs()) {
    const auto& buffers = graph_view.graph().buffers;
    const bool reserved =
        std::any_of(buffers.begin(), buffers.end(), [](const Buffer& buffer) { return !buffer.reserved.empty(); });
    const auto pool =
        std::find_if(buffers.begin(), buffers.end(), [](const Buffer& buffer) { return buffer.role == Role::kv_pool; });
    if (!reserved && pool != buffers.end())
      report.not_checked("RF310",
                         fmt::format("{}: no bytes of {} are marked as reserved: where its null block lies is not "
                                     "known",
                                     place(graph_view), pool->name.empty() ? "the KV pool" : pool->name));
    for (const auto& [buffer, hit] : hits_of(graph_view.graph())) report_hit(graph_view, buffer, hit, report);
  }
}

}  // namespace refrain
