#include "traces/timeline_builder.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "traces/cut_steps.hpp"

namespace refrain {
namespace {

/// Stable, so that records without a number keep the order of the file.
template <class Event, class Key>
void sort_by(std::vector<Event>& events, Key key) {
  const auto before = [&](const Event& a, const Event& b) { return key(a) < key(b); };
  if (!std::is_sorted(events.begin(), events.end(), before)) std::stable_sort(events.begin(), events.end(), before);
}

}  // namespace

void TimelineBuilder::header(const RecordingHeader& header) {
  recording_.name = header.name;
  recording_.has_timeline = true;
  recording_.timeline.complete = false;
  recording_.timeline.step_basis = header.step_basis;
  recording_.timeline.steps_told = header.step_basis != StepBasis::marked;
  device_ = header.device;
}

void TimelineBuilder::expect(std::size_t calls, std::size_t ranges) {
  recording_.timeline.calls.reserve(calls);
  recording_.timeline.ranges.reserve(ranges);
}

void TimelineBuilder::call(const ApiEvent& event, std::string_view detail) {
  recording_.timeline.calls.push_back(event);
  recording_.timeline.calls.back().detail = names_.id(detail);
}

void TimelineBuilder::range(const RangeEvent& event, std::string_view name) {
  recording_.timeline.ranges.push_back(event);
  recording_.timeline.ranges.back().name = names_.id(name);
}

void TimelineBuilder::buffer(const Buffer& buffer) {
  recording_.timeline.buffers.push_back({buffer});
}

void TimelineBuilder::graph(Graph&& graph, std::optional<GraphTie> tie) {
  if (tie) {
    const auto [known, fresh] = ties_.try_emplace({tie->sequence, tie->handle}, recording_.graphs.size());
    if (!fresh) {
      recording_.graphs[known->second] = std::move(graph);
      return;
    }
    recording_.timeline.graphs.push_back(
        {tie->sequence, tie->handle, static_cast<std::uint32_t>(recording_.graphs.size())});
  }
  recording_.graphs.push_back(std::move(graph));
}

void TimelineBuilder::binding(const BindingEvent& event, std::string_view name) {
  recording_.timeline.bindings.push_back(event);
  recording_.timeline.bindings.back().name = names_.id(name);
}

void TimelineBuilder::check(const ReplayCheck& check, std::string_view graph, std::string_view axis,
                            std::string_view fill) {
  ReplayCheck& kept = recording_.timeline.checks.emplace_back(check);
  kept.graph = names_.id(graph);
  kept.axis = names_.id(axis);
  kept.fill = names_.id(fill);
}

void TimelineBuilder::work(const WorkEvent& event, std::string_view name) {
  recording_.timeline.work.push_back(event);
  recording_.timeline.work.back().name = names_.id(name);
}

void TimelineBuilder::all_work(std::vector<WorkEvent>&& events, std::span<const std::string> names) {
  std::vector<std::optional<StringId>> ids(names.size());
  for (WorkEvent& event : events) {
    std::optional<StringId>& id = ids[event.name];
    if (!id) id = names_.id(names[event.name]);
    event.name = *id;
  }
  std::vector<WorkEvent>& kept = recording_.timeline.work;
  if (kept.empty())
    kept = std::move(events);
  else
    kept.insert(kept.end(), events.begin(), events.end());
}

void TimelineBuilder::graph_node(const GraphNodeEvent& node) {
  recording_.timeline.graph_nodes.push_back(node);
}

void TimelineBuilder::limit(const EvidenceLimit& limit) {
  recording_.timeline.limits.push_back(limit);
}

void TimelineBuilder::problem(const ReadProblem& problem) {
  auto& problems = recording_.timeline.problems;
  const auto known =
      std::find_if(problems.begin(), problems.end(), [&](const ReadProblem& p) { return p.name == problem.name; });
  if (known == problems.end())
    problems.push_back(problem);
  else
    known->count += problem.count;
}

void TimelineBuilder::end(bool complete) {
  Timeline& timeline = recording_.timeline;
  timeline.complete = complete;
  sort_by(timeline.calls, [](const ApiEvent& e) { return e.sequence; });
  sort_by(timeline.ranges, [](const RangeEvent& e) { return e.last; });
  sort_by(timeline.buffers, [](const BufferEvent& e) { return e.buffer.born.value_or(0); });
  sort_by(timeline.graphs, [](const GraphEvent& e) { return e.sequence; });
  sort_by(timeline.bindings, [](const BindingEvent& e) { return e.sequence; });
  // In place: there is most of it, and a stable sort takes half as much memory again.
  std::sort(timeline.work.begin(), timeline.work.end(), [](const WorkEvent& a, const WorkEvent& b) {
    return std::tuple(a.start_ns, a.call, a.end_ns) < std::tuple(b.start_ns, b.call, b.end_ns);
  });
  sort_by(timeline.graph_nodes, [](const GraphNodeEvent& e) { return std::pair(e.process, e.node); });
  sort_by(timeline.checks, [](const ReplayCheck& e) { return e.sequence; });
}

Recording TimelineBuilder::take() {
  return std::move(recording_);
}

}  // namespace refrain
