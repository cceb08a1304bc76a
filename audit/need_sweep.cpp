#include "audit/need_sweep.hpp"

#include <algorithm>

#include "audit/facts.hpp"
#include "audit/later_writers.hpp"

namespace refrain {
namespace {

using State = BrokenSegment::State;

struct Writer {
  NodeId node = 0;
  FactMask leaves = 0;
};

struct History {
  std::vector<Writer> latest;        // antichain
  std::vector<NodeId> establishers;  // of `written`: antichain of the earliest
  FactMask at_start = 0;             // holds when every replay begins
  FactMask at_first = 0;             // holds when the first replay begins; must hold again at the end
};

class NeedSweep {
 public:
  NeedSweep(const Graph& graph, const Topology& topology, const Segments& segments)
      : graph_(graph),
        topology_(topology),
        segments_(segments),
        later_(graph, topology, segments),
        history_(segments.size()) {
    for (const EntryFact& entry : graph.entry) begin_with(entry);
  }

  std::vector<BrokenNeed> run() {
    for (const NodeId node : topology_.order()) {
      for (const NodeClaim& need : needs_of(graph_.nodes[node])) judge(node, need);
      apply(node);
    }
    end_with_resting();
    std::erase_if(broken_, [](const BrokenNeed& broken) { return broken.segments.empty(); });
    return std::move(broken_);
  }

 private:
  struct Resting {
    std::size_t broken = 0, segment = 0;
  };

  void begin_with(const EntryFact& entry) {
    const auto [first, last] = segments_.of(entry.buffer, entry.range);
    for (std::size_t segment = first; segment < last; ++segment) {
      History& history = history_[segment];
      if (entry.origin == Origin::host_each_launch)
        history.at_start |= closure(entry.fact);
      else if (!graph_.buffers[entry.buffer].shared)
        history.at_first |= closure(entry.fact);
      // Once written stays written, whoever wrote it and when.
      if (closure(entry.fact) & bit(Fact::written)) history.at_start |= bit(Fact::written);
    }
  }

  void judge(NodeId node, const NodeClaim& need) {
    const auto [first, last] = segments_.of(need.buffer, need.range);
    bool recorded = false;
    const auto record = [&]() -> BrokenNeed& {
      if (!recorded) broken_.push_back({node, need, {}});
      recorded = true;
      return broken_.back();
    };
    for (std::size_t segment = first; segment < last; ++segment) {
      if (need.fact == Fact::written) {
        if (!is_written(node, segment)) record().segments.push_back(unwritten(segment));
      } else if (const auto broken = judge_segment(node, need.fact, segment)) {
        record().segments.push_back(*broken);
      } else if (rests_on_first(need.fact, segment)) {
        record();
        resting_.push_back({broken_.size() - 1, segment});
      }
    }
  }

  [[nodiscard]] bool is_written(NodeId node, std::size_t segment) const {
    const History& history = history_[segment];
    return (history.at_start & bit(Fact::written)) ||
           std::any_of(history.establishers.begin(), history.establishers.end(),
                       [&](NodeId establisher) { return topology_.before(establisher, node); });
  }

  [[nodiscard]] BrokenSegment unwritten(std::size_t segment) const {
    const auto& establishers = history_[segment].establishers;
    if (establishers.empty()) return {segment, State::untouched, {}, {}};
    return {segment, State::parallel, establishers.front(), {}};
  }

  [[nodiscard]] std::optional<BrokenSegment> judge_segment(NodeId node, Fact fact, std::size_t segment) const {
    const History& history = history_[segment];
    std::optional<NodeId> giver, writer;
    for (const Writer& last : history.latest) {
      const bool leaves = last.leaves & bit(fact);
      if (!topology_.before(last.node, node)) return parallel(segment, last.node, leaves);
      (leaves ? giver : writer) = last.node;
    }
    if (const auto later = later_.of(node, segment)) return parallel(segment, *later, false);
    if (writer) return BrokenSegment{segment, giver ? State::mixed : State::stale, giver, writer};
    if (giver || ((history.at_start | history.at_first) & bit(fact))) return std::nullopt;
    return BrokenSegment{segment, State::untouched, {}, {}};
  }

  static BrokenSegment parallel(std::size_t segment, NodeId other, bool leaves) {
    BrokenSegment broken{segment, State::parallel, {}, {}};
    (leaves ? broken.giver : broken.writer) = other;
    return broken;
  }

  [[nodiscard]] bool rests_on_first(Fact fact, std::size_t segment) const {
    return history_[segment].latest.empty() && !(history_[segment].at_start & bit(fact));
  }

  void apply(NodeId node) {
    for (const NodeAccess& access : graph_.nodes[node].accesses) {
      if (access.mode == Mode::read) continue;
      const auto [first, last] = segments_.of(access.buffer, access.range);
      for (std::size_t segment = first; segment < last; ++segment) {
        writer_of(node, segment, 0);
        if (access.reach == Reach::exact) establish(node, segment);
      }
    }
    for (const NodeClaim& claim : graph_.nodes[node].gives) {
      const auto [first, last] = segments_.of(claim.buffer, claim.range);
      for (std::size_t segment = first; segment < last; ++segment) {
        writer_of(node, segment, held(node, segment)).leaves |= closure(claim.fact);
        if (closure(claim.fact) & bit(Fact::written)) establish(node, segment);
      }
    }
  }

  Writer& writer_of(NodeId node, std::size_t segment, FactMask leaves) {
    auto& latest = history_[segment].latest;
    if (!latest.empty() && latest.back().node == node) return latest.back();
    std::erase_if(latest, [&](const Writer& writer) { return topology_.before(writer.node, node); });
    latest.push_back({node, leaves});
    return latest.back();
  }

  // What a node that gives a fact without a write finds there, and leaves as it is.
  [[nodiscard]] FactMask held(NodeId node, std::size_t segment) const {
    const History& history = history_[segment];
    if (history.latest.empty()) return history.at_start | history.at_first;
    FactMask all = 0xFF;
    for (const Writer& writer : history.latest)
      all &= topology_.before(writer.node, node) ? writer.leaves : FactMask{0};
    return all;
  }

  void establish(NodeId node, std::size_t segment) {
    auto& establishers = history_[segment].establishers;
    for (const NodeId earlier : establishers)
      if (earlier == node || topology_.before(earlier, node)) return;
    establishers.push_back(node);
  }

  void end_with_resting() {
    for (const Resting& rest : resting_) {
      BrokenNeed& broken = broken_[rest.broken];
      for (const Writer& writer : history_[rest.segment].latest)
        if (!(writer.leaves & bit(broken.need.fact))) {
          broken.segments.push_back({rest.segment, State::not_left, {}, writer.node});
          break;
        }
    }
  }

  const Graph& graph_;
  const Topology& topology_;
  const Segments& segments_;
  LaterWriters later_;
  std::vector<History> history_;
  std::vector<BrokenNeed> broken_;
  std::vector<Resting> resting_;
};

}  // namespace

std::vector<BrokenNeed> find_broken_needs(const Graph& graph, const Topology& topology, const Segments& segments) {
  return NeedSweep(graph, topology, segments).run();
}

}  // namespace refrain
