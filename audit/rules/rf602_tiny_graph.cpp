// RF602: a step that is cut into many graphs of a few nodes each. A launch costs
// the host about 1.5 us for one node and for twenty (measured on an H200), so what
// a graph saves is lost. One small graph a step is no fault: it is all there is.
#include <fmt/format.h>

#include <set>

#include "audit/rules/checks.hpp"
#include "audit/rules/launched_graphs.hpp"
#include "audit/rules/step_tally.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

constexpr std::size_t kTinyNodes = 4;  // launching these one by one costs the host little more than the graph
constexpr std::size_t kMany = 8;  // 12 us of host time a step: as much as launching some thousand nodes in one graph

std::size_t nodes_in(const Graph& graph) {
  std::size_t count = graph.nodes.size();
  for (const Node& node : graph.nodes)
    for (const Graph& body : node.bodies) count += nodes_in(body);
  return count;
}

void check_recording(const Recording& recording, Report& report) {
  const auto graphs = launched_graphs(recording);
  const auto steps = steps_of(recording.timeline);
  StepTally tally(recording.timeline, steps.size());
  const ApiEvent* first = nullptr;
  std::set<std::string> names;
  for (const StepCalls& step : steps) {
    std::vector<const ApiEvent*> tiny;
    for (const ApiEvent* call : step.calls)
      if (const auto graph = graphs.find(call); graph != graphs.end() && nodes_in(*graph->second) <= kTinyNodes)
        tiny.push_back(call);
    if (tiny.size() < kMany) continue;
    if (first == nullptr) first = tiny.front();
    for (const ApiEvent* launch : tiny) {
      tally.add(step, *launch, duration_ns(*launch), first);
      names.insert(graphs.at(launch)->name);
    }
  }
  tally.each([&](const StepCost& cost) {
    Finding finding = tally.finding("RF602", cost);
    finding.message = fmt::format(
        "graphs of at most {} nodes were launched {}, {} of them in the worst: each launch costs the host as much as "
        "one "
        "of twenty nodes",
        kTinyNodes, tally.how_often(cost), cost.worst_count);
    finding.evidence.push_back(fmt::format("graphs: {}", list_names({names.begin(), names.end()})));
    finding.fix = "capture the whole step into one graph, or as few as its breaks allow";
    report.add(std::move(finding), tally.names(cost));
  });
}

}  // namespace

void check_rf602(const SubjectView& view, Report& report) {
  for (const Recording* recording : recordings_with_steps(view, report, "RF602")) check_recording(*recording, report);
}

}  // namespace refrain
