#include "audit/facts.hpp"

#include <algorithm>

#include "audit/fact_mask.hpp"
#include "audit/givers.hpp"
#include "audit/need_sweep.hpp"
#include "audit/races.hpp"
#include "audit/segments.hpp"

namespace refrain {
namespace {

using State = BrokenSegment::State;

/// Works out why a need failed.
class Classifier {
 public:
  Classifier(const Graph& graph, const Topology& topology, const Segments& segments, const std::vector<NodeId>& unknown)
      : graph_(graph), topology_(topology), segments_(segments), unknown_(unknown), givers_(graph, topology) {}

  /// One failure a need: its gravest kind, over the bytes from the first to the last that fail so.
  [[nodiscard]] Failure classify(const BrokenNeed& broken) const {
    std::vector<Failure> parts;
    parts.reserve(broken.segments.size());
    for (const BrokenSegment& segment : broken.segments) parts.push_back(part(broken, segment));
    Failure worst = *std::min_element(parts.begin(), parts.end(),
                                      [](const Failure& a, const Failure& b) { return rank(a) < rank(b); });
    for (const Failure& other : parts)
      if (other.kind == worst.kind)
        worst.broken = {std::min(worst.broken.begin, other.broken.begin), std::max(worst.broken.end, other.broken.end)};
    worst.unknown = possible_giver(worst);
    return worst;
  }

 private:
  // What names two nodes says more than what names one.
  static int rank(const Failure& failure) {
    switch (failure.kind) {
      case FailureKind::unordered: return 0;
      case FailureKind::destroyed: return 1;
      case FailureKind::short_: return 2;
      case FailureKind::entry_lost: return 3;
      case FailureKind::missing: break;
    }
    return 4;
  }

  [[nodiscard]] Failure part(const BrokenNeed& broken, const BrokenSegment& segment) const {
    const NodeClaim& need = broken.need;
    const ByteRange range = segments_.range(segment.segment);
    Failure failure;
    failure.fact = need.fact;
    failure.node = broken.node;
    failure.buffer = need.buffer;
    failure.needed = need.range;
    failure.broken = range;
    failure.giver = segment.giver;
    failure.destroyer = segment.writer;
    if (segment.state == State::parallel || segment.state == State::mixed) {
      failure.kind = FailureKind::unordered;
      name_parallel(failure);
    } else if (segment.state == State::not_left || was_others(failure, segment.state)) {
      set_absent(failure);
    } else if (const auto giver = givers_.before(broken.node, need.fact, need.buffer, range)) {
      failure.kind = FailureKind::destroyed;
      failure.giver = giver;
    } else if (const auto late = givers_.not_before(broken.node, need.fact, need.buffer, range)) {
      failure.kind = FailureKind::unordered;
      failure.giver = late;
      failure.late = topology_.before(broken.node, *late);
    } else {
      set_absent(failure);
    }
    return failure;
  }

  // A parallel writer that also leaves the fact is its giver; beside one that does not stands who gave it before.
  void name_parallel(Failure& failure) const {
    if (!failure.giver && failure.destroyer &&
        givers_.gives(*failure.destroyer, failure.fact, failure.buffer, failure.broken))
      std::swap(failure.giver, failure.destroyer);
    if (!failure.giver) failure.giver = givers_.before(failure.node, failure.fact, failure.buffer, failure.broken);
  }

  // Nothing establishes the fact on these bytes in time: on other bytes of the need, at the start, or nowhere.
  void set_absent(Failure& failure) const {
    failure.entry = entry_of(failure);
    if (const auto giver = givers_.before(failure.node, failure.fact, failure.buffer, failure.needed)) {
      failure.kind = FailureKind::short_;
      failure.giver = giver;
    } else {
      failure.kind = failure.entry ? FailureKind::entry_lost : FailureKind::missing;
    }
  }

  // It held before the first replay, in memory that other graphs write since: that says more than who gives it too
  // late.
  [[nodiscard]] bool was_others(const Failure& failure, State state) const {
    return state == State::untouched && graph_.buffers[failure.buffer].shared && entry_of(failure).has_value();
  }

  [[nodiscard]] std::optional<std::size_t> entry_of(const Failure& failure) const {
    for (std::size_t i = 0; i < graph_.entry.size(); ++i) {
      const EntryFact& entry = graph_.entry[i];
      if (entry.buffer == failure.buffer && (closure(entry.fact) & bit(failure.fact)) &&
          entry.range.overlaps(failure.broken))
        return i;
    }
    return std::nullopt;
  }

  // A fault between known nodes stands whatever the unknown ones do: two that are not ordered, or a giver whose
  // range is short. The rest rests on no other node having established the fact in time.
  [[nodiscard]] std::optional<NodeId> possible_giver(const Failure& failure) const {
    if (unknown_.empty() || failure.kind == FailureKind::short_) return std::nullopt;
    if (failure.kind == FailureKind::entry_lost) return unknown_.front();
    if (failure.kind == FailureKind::unordered && !failure.late) return std::nullopt;
    return unknown_between(failure.destroyer, failure.node);
  }

  [[nodiscard]] std::optional<NodeId> unknown_between(std::optional<NodeId> writer, NodeId consumer) const {
    const auto may_lie_between = [&](NodeId node) {
      return !topology_.before(consumer, node) && !(writer && topology_.before(node, *writer));
    };
    const auto position = [&](NodeId node, std::uint32_t at) { return topology_.position(node) < at; };
    const auto first = writer
                           ? std::lower_bound(unknown_.begin(), unknown_.end(), topology_.position(*writer), position)
                           : unknown_.begin();
    if (first != unknown_.end() && may_lie_between(*first)) return *first;
    if (topology_.chain_count() <= 1) return std::nullopt;
    const auto other = std::find_if(unknown_.begin(), unknown_.end(), may_lie_between);
    return other == unknown_.end() ? std::nullopt : std::optional(*other);
  }

  const Graph& graph_;
  const Topology& topology_;
  const Segments& segments_;
  const std::vector<NodeId>& unknown_;
  Givers givers_;
};

}  // namespace

bool is_unknown(const Node& node) noexcept {
  if (node.has_contract) return false;
  switch (node.kind) {
    case NodeKind::mem_alloc:
    case NodeKind::mem_free:
    case NodeKind::event_record:
    case NodeKind::event_wait:
    case NodeKind::empty:
    case NodeKind::semaphore_signal:
    case NodeKind::semaphore_wait: return false;
    default: return true;
  }
}

std::vector<NodeClaim> needs_of(const Node& node) {
  std::vector<NodeClaim> needs;
  const auto add = [&](const NodeClaim& claim) {
    const auto same = [&](const NodeClaim& other) {
      return other.fact == claim.fact && other.buffer == claim.buffer && other.range == claim.range;
    };
    if (std::none_of(needs.begin(), needs.end(), same)) needs.push_back(claim);
  };
  for (const NodeClaim& claim : node.needs) add(claim);
  for (const NodeAccess& access : node.accesses)
    if (reads(access.mode)) add({Fact::written, access.buffer, access.range});
  return needs;
}

FactsResult analyse_facts(const Graph& graph, const Topology& topology) {
  FactsResult result;
  for (const NodeId node : topology.order())
    if (is_unknown(graph.nodes[node])) result.unknown.push_back(node);
  const Segments segments(graph);
  const auto broken = find_broken_needs(graph, topology, segments);
  if (!broken.empty()) {
    const Classifier classifier(graph, topology, segments, result.unknown);
    for (const BrokenNeed& need : broken) result.failures.push_back(classifier.classify(need));
  }
  result.races = find_races(graph, topology, segments);
  return result;
}

const char* to_string(FailureKind kind) noexcept {
  switch (kind) {
    case FailureKind::missing: return "missing";
    case FailureKind::unordered: return "unordered";
    case FailureKind::short_: return "short";
    case FailureKind::destroyed: return "destroyed";
    case FailureKind::entry_lost: return "entry_lost";
  }
  return "unknown";
}

}  // namespace refrain
