// RF103: copy nodes with one end in pageable host memory, and such copies in a
// step outside any graph, blocking ones too, with the sync that waits for them; and
// such copies inside replays, where a profiler saw them at work. Where
// a node fills a plan, a workspace or a scratch built on the host, rule 205 says
// so instead, and where the host memory was freed, rule 403.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/captures.hpp"
#include "audit/graph_lives.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/host_built.hpp"
#include "audit/rules/pointers.hpp"
#include "audit/rules/replayed_copies.hpp"
#include "audit/rules/step_copies.hpp"
#include "audit/rules/step_tally.hpp"
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

void check_graphs(const SubjectView& view, Report& report) {
  const GraphLives lives(view);
  for (std::size_t i = 0; i < view.graphs().size(); ++i) {
    const GraphView& graph_view = view.graphs()[i];
    const Graph& graph = graph_view.graph();
    const auto freed = dead_host_copies(graph_view, lives.of(i));
    std::vector<NodeId> pageable;
    std::size_t hidden = 0;
    for (const NodeId node : nodes_of_kind(graph, NodeKind::memcpy)) {
      const auto& copy = graph.nodes[node].copy;
      if (!copy || copy->src_space == MemorySpace::unknown || copy->dst_space == MemorySpace::unknown) ++hidden;
      if (!copy || filled_from_host(graph, node)) continue;
      if (std::find(freed.begin(), freed.end(), node) != freed.end()) continue;
      if (copy->src_space == MemorySpace::pageable || copy->dst_space == MemorySpace::pageable)
        pageable.push_back(node);
    }
    if (!pageable.empty()) report_copies(graph_view, report, pageable);
    if (hidden > 0)
      report.not_checked("RF103", fmt::format("{}: the input does not say what kind of memory {} cop{}",
                                              place(graph_view), hidden, hidden == 1 ? "y uses" : "ies use"));
  }
}

/// The syncs that followed the copies of one kind, by name.
using Followers = std::map<std::pair<Api, StringId>, std::map<std::string, std::size_t>>;

void report_step_copies(const StepTally& tally, const StepCost& cost, const std::map<std::string, std::size_t>& syncs,
                        Report& report) {
  const bool blocking = is_blocking_copy(cost.first->api);
  Finding finding = tally.finding("RF103", cost);
  finding.message = fmt::format(
      "{} ran {}, outside any graph, {}", to_string(cost.first->api), tally.how_often(cost),
      blocking ? "and is the blocking form: the host waits until the bytes are there, and the device runs dry"
               : "and uses pageable host memory: the driver stages the bytes, the host waits for it, and nothing "
                 "overlaps with the copy");
  for (const auto& [name, count] : syncs)
    finding.evidence.push_back(fmt::format("{} of them {} followed by {}, which waits for the same copy", count,
                                           count == 1 ? "is" : "are", name));
  finding.fix =
      "copy with cudaMemcpyAsync from or to pinned memory (cudaMallocHost) on the step's stream, and wait once, for "
      "the "
      "event behind the step's last copy; or keep the data on the device";
  report.add(std::move(finding), tally.names(cost));
}

void check_steps(const Recording& recording, Report& report) {
  const auto steps = steps_of(recording.timeline);
  StepTally tally(recording.timeline, steps.size());
  Followers followers;
  for (const StepCalls& step : steps)
    for (const StepCopy& copy : waiting_copies(step)) {
      tally.add(step, *copy.copy, duration_ns(*copy.copy) + (copy.sync != nullptr ? duration_ns(*copy.sync) : 0));
      if (copy.sync != nullptr) ++followers[{copy.copy->api, copy.copy->detail}][to_string(copy.sync->api)];
    }
  tally.each([&](const StepCost& cost) {
    report_step_copies(tally, cost, followers[{cost.first->api, cost.first->detail}], report);
  });
}

}  // namespace

void check_rf103(const SubjectView& view, Report& report) {
  check_graphs(view, report);
  for (const Recording* recording : view.timelines())
    if (recording->graphs.empty()) report_replayed_copies(*recording, report, "RF103");
  // Where there are graphs, they were looked at, and steps are a second thing to look at.
  Report unwanted;
  for (const Recording* recording : recordings_with_steps(view, view.graphs().empty() ? report : unwanted, "RF103"))
    check_steps(*recording, report);
}

}  // namespace refrain
