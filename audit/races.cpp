#include "audit/races.hpp"

#include <algorithm>
#include <unordered_map>

namespace refrain {
namespace {

struct Touch {
  NodeId node = 0;
  bool exact = false;
};

// The latest accesses of one segment, each an antichain. An accumulation does not take the place of a read or a
// plain write: a later accumulation conflicts with those and not with the first.
struct History {
  std::vector<Touch> reads, writes, accumulations;
};

class RaceSweep {
 public:
  RaceSweep(const Graph& graph, const Topology& topology, const Segments& segments)
      : graph_(graph),
        topology_(topology),
        segments_(segments),
        history_(segments.size()),
        written_(graph.buffers.size(), false),
        pairs_(graph.buffers.size(), 0) {
    for (const Node& node : graph.nodes)
      for (const NodeAccess& access : node.accesses)
        if (access.mode != Mode::read) written_[access.buffer] = true;
  }

  std::vector<Race> run() {
    for (const NodeId node : topology_.order()) {
      for (const NodeAccess& access : graph_.nodes[node].accesses) each_segment(node, access, &RaceSweep::check);
      for (const NodeAccess& access : graph_.nodes[node].accesses) each_segment(node, access, &RaceSweep::remember);
    }
    return std::move(races_);
  }

 private:
  // What nobody writes can't race; and past the cap a buffer has been told on often enough.
  template <class Step>
  void each_segment(NodeId node, const NodeAccess& access, Step step) {
    const auto [first, last] = segments_.of(access.buffer, access.range);
    for (std::size_t segment = first; segment < last; ++segment)
      if (written_[access.buffer] && pairs_[access.buffer] < kRacesPerBuffer) (this->*step)(node, access, segment);
  }

  void check(NodeId node, const NodeAccess& access, std::size_t segment) {
    const History& history = history_[segment];
    against(history.writes, node, access, segment);
    if (access.mode != Mode::accumulate) against(history.accumulations, node, access, segment);
    if (access.mode != Mode::read) against(history.reads, node, access, segment);
  }

  void against(const std::vector<Touch>& earlier, NodeId node, const NodeAccess& access, std::size_t segment) {
    for (const Touch& touch : earlier)
      if (touch.node != node && !topology_.before(touch.node, node))
        record(touch.node, node, access.buffer, segments_.range(segment), touch.exact && access.reach == Reach::exact);
  }

  void record(NodeId a, NodeId b, BufferId buffer, ByteRange range, bool exact) {
    auto& of_pair = index_[std::uint64_t{a} << 32 | b];
    for (const std::size_t i : of_pair)
      if (Race& race = races_[i]; race.buffer == buffer) {
        race.range = {std::min(race.range.begin, range.begin), std::max(race.range.end, range.end)};
        race.exact = race.exact || exact;
        return;
      }
    if (pairs_[buffer] >= kRacesPerBuffer) return;
    ++pairs_[buffer];
    of_pair.push_back(races_.size());
    races_.push_back({a, b, buffer, range, exact});
  }

  void remember(NodeId node, const NodeAccess& access, std::size_t segment) {
    History& history = history_[segment];
    const bool exact = access.reach == Reach::exact;
    if (access.mode == Mode::read) return put(history.reads, node, exact);
    if (access.mode == Mode::accumulate) return put(history.accumulations, node, exact);
    drop(history.reads, node);
    drop(history.accumulations, node);
    put(history.writes, node, exact);
  }

  void drop(std::vector<Touch>& touches, NodeId node) {
    std::erase_if(touches, [&](const Touch& touch) { return topology_.before(touch.node, node); });
  }

  void put(std::vector<Touch>& touches, NodeId node, bool exact) {
    if (!touches.empty() && touches.back().node == node) {
      touches.back().exact = touches.back().exact || exact;
      return;
    }
    drop(touches, node);
    touches.push_back({node, exact});
  }

  const Graph& graph_;
  const Topology& topology_;
  const Segments& segments_;
  std::vector<History> history_;
  std::vector<bool> written_;
  std::vector<std::size_t> pairs_;  // races recorded, by buffer
  std::vector<Race> races_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> index_;  // of a pair of nodes, into races_
};

}  // namespace

std::vector<Race> find_races(const Graph& graph, const Topology& topology, const Segments& segments) {
  return RaceSweep(graph, topology, segments).run();
}

}  // namespace refrain
