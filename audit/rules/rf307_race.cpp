// RF307: two nodes touch the same bytes, one of them writes, and no path orders
// them. A race that a failed need already explains is not told again, and two
// branches that share one workspace are rule 207's.
#include <fmt/format.h>

#include <algorithm>

#include "audit/rules/checks.hpp"
#include "audit/rules/shared_workspace.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

const char* verb(const Graph& graph, NodeId node, const Race& race) {
  bool reads = false, writes = false, accumulates = false;
  for (const NodeAccess& access : graph.nodes[node].accesses) {
    if (access.buffer != race.buffer || !access.range.overlaps(race.range)) continue;
    accumulates = accumulates || access.mode == Mode::accumulate;
    writes = writes || access.mode == Mode::write || access.mode == Mode::read_write;
    reads = reads || access.mode == Mode::read;
  }
  if (writes) return "writes";
  if (accumulates) return "accumulates into";
  return reads ? "reads" : "touches";
}

// The surest race of the group leads it.
const Race& lead_of(const std::vector<const Race*>& group) {
  return **std::max_element(group.begin(), group.end(),
                            [](const Race* a, const Race* b) { return a->exact < b->exact; });
}

void report_group(const GraphView& view, Report& report, const std::vector<const Race*>& group) {
  const Graph& graph = view.graph();
  const Race& race = lead_of(group);
  Finding finding = new_finding("RF307", view, Certainty::contract);
  if (!race.exact) finding.severity = Severity::warning;
  finding.count = group.size();
  finding.nodes = {race.a, race.b};
  std::vector<std::string> buffers = {name_of(graph, race.buffer)};
  for (const Race* other : group)
    if (const auto name = name_of(graph, other->buffer);
        std::find(buffers.begin(), buffers.end(), name) == buffers.end())
      buffers.push_back(name);
  finding.where = place(view, finding.nodes, buffers);
  finding.message = fmt::format(
      "{} {} {} of {} and {} {} it, with no order between the two: the result changes from "
      "replay to replay",
      describe(graph, race.a), verb(graph, race.a, race), bytes_of(race.range), buffers.front(),
      describe(graph, race.b), verb(graph, race.b, race));
  if (!race.exact)
    finding.evidence.push_back(
        "at least one goes through an index in memory: they may touch different bytes of the range");
  if (group.size() > 1)
    finding.evidence.push_back(
        fmt::format("{} pairs of nodes and buffers are hit; buffers: {}", group.size(), list_names(buffers)));
  finding.fix = fmt::format(
      "order {} and {}: launch both on one stream, or record an event after the one that comes first "
      "and let the other wait for it; or give each branch memory of its own",
      describe(graph, race.a), describe(graph, race.b));
  std::vector<std::string> names = {name_of(graph.nodes[race.a]), name_of(graph.nodes[race.b])};
  names.insert(names.end(), buffers.begin(), buffers.end());
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf307(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF307")) return;
  tell_unknown_nodes(view, report, "RF307");
  for (const GraphView& graph_view : view.graphs())
    for (const auto& group : graph_view.causes().races)
      if (shared_workspace(graph_view.graph(), group) == nullptr) report_group(graph_view, report, group);
}

}  // namespace refrain
