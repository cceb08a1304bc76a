// RF309: a programmatic edge orders nothing by itself: the consumer starts while the
// producer runs, and only its own wait on the device makes it come afterwards. The
// other rules take every edge for an order; this one finds those that are none. Where
// every contract is known and nothing rests on such edges, no harm comes of them.
#include <fmt/format.h>

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
