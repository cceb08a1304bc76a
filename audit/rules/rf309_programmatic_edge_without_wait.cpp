// RF309: a programmatic edge orders nothing by itself: the consumer starts while the
// producer runs, and only its own wait on the device makes it come afterwards. The
// other rules take every edge for an order; this one finds those that are none. Where
// every contract is known and nothing rests on such edges, no harm comes of them.
// A consumer that waits may still read some of its inputs before: those of the kernels
// two ahead are done, those of the one right ahead are not. Of a cache to which that one
// appends, the tokens of earlier steps are done all the same.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

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

Finding read_too_soon(const GraphView& view, const Edge& edge, const NodeAccess& read) {
  const Graph& graph = view.graph();
  Finding finding = new_finding("RF309", view, Certainty::contract);
  finding.nodes = {edge.from, edge.to};
  finding.where = place(view, finding.nodes);
  finding.message = fmt::format("{} reads {} before it waits, while {} may still write it", describe(graph, edge.to),
                                name_of(graph, read.buffer), describe(graph, edge.from));
  finding.evidence.push_back("the edge between the two is programmatic (programmatic dependent launch)");
  finding.evidence.push_back("the contract of the second reads these bytes ahead of its wait (before_wait)");
  finding.fix = fmt::format(
      "launch {} so that it waits before it reads (xqa_decode: plan_is_done = false), or put the kernel that writes "
      "{} at least two ahead",
      name_of(graph.nodes[edge.to]), name_of(graph, read.buffer));
  return finding;
}

bool may_still_write(const NodeAccess& write, const NodeAccess& read) {
  if (read.tokens == CacheTokens::settled && write.tokens == CacheTokens::appended) return false;
  return write.mode != Mode::read && write.buffer == read.buffer && write.range.overlaps(read.range);
}

/// The first read that the consumer does not wait for and that the producer may still be writing.
const NodeAccess* find_read_too_soon(const Graph& graph, const Edge& edge) {
  const Node &producer = graph.nodes[edge.from], &consumer = graph.nodes[edge.to];
  if (edge.kind != EdgeKind::programmatic || !consumer.waits.value_or(false)) return nullptr;
  for (const NodeAccess& read : consumer.accesses)
    if (read.before_wait && std::any_of(producer.accesses.begin(), producer.accesses.end(),
                                        [&](const NodeAccess& other) { return may_still_write(other, read); }))
      return &read;
  return nullptr;
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
    std::optional<bool> matters;
    for (const Edge& edge : graph.edges) {
      if (edge.kind == EdgeKind::programmatic && !graph.nodes[edge.to].waits) ++unknown;
      if (const NodeAccess* read = find_read_too_soon(graph, edge))
        report.add(read_too_soon(graph_view, edge, *read),
                   std::vector<std::string>{name_of(graph.nodes[edge.from]), name_of(graph.nodes[edge.to])});
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
