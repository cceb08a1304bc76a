// RF407: a graph copies from pinned memory, and a call wrote that memory while a
// launch could still be reading it. The copy engine reads pinned memory when it
// comes to it, not when the launch returns. Writes by host code are no calls and
// are seen only where a runtime records them.
#include <fmt/format.h>

#include <map>

#include "audit/captures.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/stream_order.hpp"
#include "audit/rules/traffic.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

/// A copy node with one end in pinned memory.
struct PinnedEnd {
  std::size_t view = 0;
  NodeId node = 0;
  Address begin = 0, end = 0;
};

struct Race {
  const ApiEvent* launch = nullptr;
  const ApiEvent* write = nullptr;
  std::uint64_t count = 0;
};

bool in_pinned_buffer(const Graph& graph, Address address) {
  for (const Buffer& buffer : graph.buffers)
    if (buffer.space == MemorySpace::pinned && buffer.base <= address && address - buffer.base < buffer.bytes)
      return true;
  return false;
}

class Watch {
 public:
  Watch(const SubjectView& view, const Traffic& traffic) : view_(view), traffic_(traffic) {
    for (const TimedGraph& graph : traffic.graphs())
      for (const std::size_t index : graph.views) find_ends(graph, index);
  }

  std::map<std::pair<std::size_t, NodeId>, Race> run(const Timeline& timeline) {
    if (!sources_.empty())
      for (const ApiEvent& call : timeline.calls) take(call);
    return std::move(races_);
  }

 private:
  struct Pending {
    const TimedGraph* graph;
    const ApiEvent* launch;
    OrderedAfter after;
  };

  void find_ends(const TimedGraph& timed, std::size_t index) {
    const Graph& graph = view_.graphs()[index].graph();
    for (const NodeId node : nodes_of_kind(graph, NodeKind::memcpy)) {
      const auto& copy = graph.nodes[node].copy;
      if (!copy || copy->bytes == 0) continue;
      const auto pinned = [&](Address address, MemorySpace space) {
        return address != 0 && (space == MemorySpace::pinned || in_pinned_buffer(graph, address));
      };
      if (pinned(copy->src, copy->src_space))
        sources_[&timed].push_back({index, node, copy->src, copy->src + copy->bytes});
      if (pinned(copy->dst, copy->dst_space))
        targets_[&timed].push_back({index, node, copy->dst, copy->dst + copy->bytes});
    }
  }

  void take(const ApiEvent& call) {
    if (call.space != MemorySpace::device && writes_at_once(call)) write(call, call.address, call.address + call.bytes);
    const TimedGraph* graph = traffic_.launched_by(call);
    if (graph != nullptr)
      for (const PinnedEnd& end : targets_[graph]) write(call, end.begin, end.end);
    if (OrderedAfter::concerns(call.api))
      std::erase_if(pending_, [&](Pending& pending) { return pending.after.follow(call); });
    if (graph == nullptr || !sources_.contains(graph)) return;
    // What is ordered after the last launch of a stream is ordered after those before it, too.
    std::erase_if(pending_,
                  [&](const Pending& old) { return old.graph == graph && old.launch->stream == call.stream; });
    pending_.push_back({graph, &call, OrderedAfter(call.stream)});
  }

  void write(const ApiEvent& call, Address begin, Address end) {
    for (const Pending& pending : pending_) {
      if (pending.after.orders(call)) continue;
      for (const PinnedEnd& source : sources_[pending.graph]) {
        if (begin >= source.end || source.begin >= end) continue;
        Race& race = races_[{source.view, source.node}];
        if (race.count++ == 0) {
          race.launch = pending.launch;
          race.write = &call;
        }
      }
    }
  }

  const SubjectView& view_;
  const Traffic& traffic_;
  std::map<const TimedGraph*, std::vector<PinnedEnd>> sources_, targets_;
  std::vector<Pending> pending_;
  std::map<std::pair<std::size_t, NodeId>, Race> races_;
};

void report_race(const GraphView& view, NodeId node, const Race& race, Report& report) {
  const Graph& graph = view.graph();
  const std::string source = buffer_name_at(graph, graph.nodes[node].copy->src, "its pinned source");
  Finding finding = new_finding("RF407", view, Certainty::proven);
  finding.count = race.count;
  finding.nodes = {node};
  finding.where = place(view, finding.nodes, {source});
  finding.message = fmt::format(
      "{} reads {} at some time after the launch at event {} (stream {}); {} wrote it at event {} (stream {}) with "
      "nothing in between that waited for that launch: the replay takes either value, or half of each",
      describe(graph, node), source, race.launch->sequence, race.launch->stream, to_string(race.write->api),
      race.write->sequence, race.write->stream);
  if (race.count > 1) finding.evidence.push_back(fmt::format("{} writes raced", race.count));
  finding.fix = fmt::format(
      "record an event after the launch and wait for it before {} is written again, or write into the next slot of a "
      "ring with one slot more than launches in flight",
      source);
  report.add(std::move(finding), std::vector<std::string>{source, to_string(race.write->api)});
}

}  // namespace

void check_rf407(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF407", "a graph alone does not show the calls between its launches")) return;
  const GraphLives lives(view);
  tell_untied_graphs(view, lives, report, "RF407");
  for (const Recording* recording : view.timelines()) {
    const Traffic traffic(view, lives, *recording);
    for (const auto& [where, race] : Watch(view, traffic).run(recording->timeline))
      report_race(view.graphs()[where.first], where.second, race, report);
  }
}

}  // namespace refrain
