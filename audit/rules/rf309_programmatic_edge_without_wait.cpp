// RF309: a programmatic edge orders nothing by itself: the consumer starts while the
// producer runs, and only its own wait on the device makes it come afterwards. The
// other rules take every edge for an order; this one finds those that are none. Where
// every contract is known and nothing rests on such edges, no harm comes of them.
// A consumer that waits may still read some of its inputs before: those of the kernels
// two ahead are done, those of the one right ahead are not, and where that one triggers
// before it waits itself, neither are those that it waits for. Of a cache to which one of
// them appends, the tokens of earlier steps are done all the same.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

Finding unwaited(const GraphView& view, const Edge& edge) {
  const Graph& graph = view.graph();
  // Without a trigger the consumer starts when the producer's last block has ended: what that wrote may not be visible.
  const bool ends_first = graph.nodes[edge.from].triggers == false;
  Finding finding = new_finding("RF309", view, Certainty::contract);
  if (ends_first) finding.severity = Severity::warning;
  finding.nodes = {edge.from, edge.to};
  finding.where = place(view, finding.nodes);
  finding.message =
      fmt::format("{} may start {} and never waits for it: it {}", describe(graph, edge.to),
                  ends_first ? fmt::format("before the writes of {} can be seen", describe(graph, edge.from))
                             : fmt::format("while {} still runs", describe(graph, edge.from)),
                  ends_first ? "reads what the last blocks wrote only by luck"
                             : "reads what is not written yet, or writes what is still read");
  finding.evidence.push_back("the edge between the two is programmatic (programmatic dependent launch)");
  finding.evidence.push_back("the contract of the second has no wait on the device (griddepcontrol.wait)");
  finding.fix = fmt::format(
      "call cudaGridDependencySynchronize() in every block of {} before it touches memory, or launch it without the "
      "attribute cudaLaunchAttributeProgrammaticStreamSerialization",
      name_of(graph.nodes[edge.to]));
  return finding;
}

bool is_unwaited(const Graph& graph, const Edge& edge) {
  const Node& consumer = graph.nodes[edge.to];
  return edge.kind == EdgeKind::programmatic && consumer.waits && !*consumer.waits;
}

/// What a consumer reads ahead of its wait, and a kernel ahead that may still be writing it.
struct SoonRead {
  NodeId writer = 0;
  const NodeAccess* read = nullptr;
};

Finding read_too_soon(const GraphView& view, const Edge& edge, const SoonRead& soon) {
  const Graph& graph = view.graph();
  const std::string buffer = name_of(graph, soon.read->buffer);
  Finding finding = new_finding("RF309", view, Certainty::contract);
  finding.nodes = {soon.writer, edge.to};
  finding.where = place(view, finding.nodes);
  finding.message = fmt::format("{} reads {} before it waits, while {} may still write it", describe(graph, edge.to),
                                buffer, describe(graph, soon.writer));
  finding.evidence.push_back(fmt::format("the edge from {} to {} is programmatic (programmatic dependent launch)",
                                         describe(graph, edge.from), describe(graph, edge.to)));
  finding.evidence.push_back("the contract of the second reads these bytes ahead of its wait (before_wait)");
  if (soon.writer != edge.from)
    finding.evidence.push_back(fmt::format("{} lets it start before it has waited for {} itself (triggers_first)",
                                           describe(graph, edge.from), describe(graph, soon.writer)));
  finding.fix = fmt::format(
      "launch {} so that it waits before it reads (xqa_decode: plan_is_done = false; others: rest_is_done = false), or "
      "put the kernel that writes {} further ahead, with one between that triggers only after its wait",
      name_of(graph.nodes[edge.to]), buffer);
  return finding;
}

bool may_still_write(const NodeAccess& write, const NodeAccess& read) {
  if (read.tokens == CacheTokens::settled && write.tokens == CacheTokens::appended) return false;
  return write.mode != Mode::read && write.buffer == read.buffer && write.range.overlaps(read.range);
}

/// By node: the kernels that it has yet to wait for when it lets the next one start. What it never waits for is a
/// finding of its own.
using YetToWait = std::vector<std::vector<NodeId>>;

YetToWait yet_to_wait(const Graph& graph) {
  YetToWait ahead(graph.nodes.size());
  for (const Edge& edge : graph.edges) {
    const Node& node = graph.nodes[edge.to];
    if (edge.kind == EdgeKind::programmatic && node.triggers_first.value_or(false) && node.waits.value_or(false))
      ahead[edge.to].push_back(edge.from);
  }
  return ahead;
}

/// Kernels that may run when what is behind `producer` starts, the nearest first.
std::vector<NodeId> still_running(const YetToWait& ahead, NodeId producer) {
  std::vector<NodeId> running = {producer};
  for (std::size_t at = 0; at < running.size(); ++at)
    for (const NodeId before : ahead[running[at]])
      if (std::find(running.begin(), running.end(), before) == running.end()) running.push_back(before);
  return running;
}

/// The first read that the consumer does not wait for and that a kernel ahead may still be writing.
std::optional<SoonRead> find_read_too_soon(const Graph& graph, const YetToWait& waiting, const Edge& edge) {
  const Node& consumer = graph.nodes[edge.to];
  if (edge.kind != EdgeKind::programmatic || !consumer.waits.value_or(false)) return std::nullopt;
  if (std::none_of(consumer.accesses.begin(), consumer.accesses.end(),
                   [](const NodeAccess& access) { return access.before_wait; }))
    return std::nullopt;
  for (const NodeId ahead : still_running(waiting, edge.from))
    for (const NodeAccess& read : consumer.accesses)
      for (const NodeAccess& other : graph.nodes[ahead].accesses)
        if (read.before_wait && may_still_write(other, read)) return SoonRead{ahead, &read};
  return std::nullopt;
}

/// Something fails or races without these edges that does not with them.
bool rests_on_unwaited(const GraphView& view) {
  if (!view.facts().unknown.empty() || view.parent()) return true;
  Graph ordered = view.graph();
  std::erase_if(ordered.edges, [&](const Edge& edge) { return is_unwaited(view.graph(), edge); });
  const FactsResult facts = analyse_facts(ordered, Topology(ordered));
  return facts.failures.size() > view.facts().failures.size() || facts.races.size() > view.facts().races.size();
}

}  // namespace

void check_rf309(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF309")) return;
  std::size_t unknown = 0;
  bool blind = false;
  for (const GraphView& graph_view : view.graphs()) {
    const Graph& graph = graph_view.graph();
    blind = blind || graph.capture.cannot_see(Unseen::edge_kinds);
    const YetToWait waiting = yet_to_wait(graph);
    std::optional<bool> matters;
    for (const Edge& edge : graph.edges) {
      if (edge.kind == EdgeKind::programmatic && !graph.nodes[edge.to].waits) ++unknown;
      if (const auto soon = find_read_too_soon(graph, waiting, edge))
        report.add(read_too_soon(graph_view, edge, *soon),
                   std::vector<std::string>{name_of(graph.nodes[soon->writer]), name_of(graph.nodes[edge.to])});
      if (!is_unwaited(graph, edge)) continue;
      if (!matters) matters = rests_on_unwaited(graph_view);
      if (*matters)
        report.add(unwaited(graph_view, edge),
                   std::vector<std::string>{name_of(graph.nodes[edge.from]), name_of(graph.nodes[edge.to])});
    }
  }
  if (blind) report.not_checked("RF309", "the input does not show which edges are programmatic");
  if (unknown != 0)
    report.not_checked("RF309",
                       fmt::format("{} programmatic edge{} lead{} to kernels of which no contract says whether "
                                   "they wait on the device",
                                   unknown, unknown == 1 ? "" : "s", unknown == 1 ? "s" : ""));
}

}  // namespace refrain
