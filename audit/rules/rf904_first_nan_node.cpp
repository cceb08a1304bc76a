// RF904: the first node of a graph that wrote a NaN, found by cutting the replay
// node by node. A note: rule 901, 902 or 903 says what it led to.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/replay_checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

bool names_a_node(const ReplayCheck& check) {
  return check.first_nan_node.has_value();
}

const Graph* find_graph(const Recording& recording, const std::string& name, NodeId node) {
  for (const Graph& graph : recording.graphs)
    if (graph.name == name && node < graph.nodes.size()) return &graph;
  return nullptr;
}

void report_graph(const Recording& recording, const std::string& name, const std::vector<const ReplayCheck*>& checks,
                  Report& report) {
  const ReplayCheck& first = *checks.front();
  const NodeId node = *first.first_nan_node;
  const Graph* graph = find_graph(recording, name, node);
  const std::string& axis = recording.timeline.text(first.axis);
  Finding finding = new_check_finding("RF904", name);
  finding.count = checks.size();
  finding.nodes = {node};
  const std::string words = graph == nullptr ? fmt::format("node {}", node) : describe(*graph, node);
  finding.where += ", " + words;
  finding.message = fmt::format("{} is the first to write a NaN", words);
  if (!axis.empty())
    finding.message += fmt::format(", with {} filled with {}", axis, recording.timeline.text(first.fill));
  for (const ReplayCheck* check : checks)
    if (*check->first_nan_node != node)
      finding.evidence.push_back(
          fmt::format("with {} it is node {}", recording.timeline.text(check->axis), *check->first_nan_node));
  finding.fix = fmt::format("look at what {} reads: unwritten memory, padding, or a page that no row owns", words);
  report.add(std::move(finding), std::vector<std::string>{graph == nullptr ? words : name_of(graph->nodes[node])});
}

}  // namespace

void check_rf904(const SubjectView& view, Report& report) {
  bool any = false;
  for (const Recording* recording : view.timelines()) {
    any = any || !recording->timeline.checks.empty();
    for (const auto& [graph, checks] : checks_of(*recording, names_a_node))
      report_graph(*recording, graph, checks, report);
  }
  if (!any) report.not_checked("RF904", "no replay checks: run refrain verify");
}

}  // namespace refrain
