#include "audit/causes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "audit/linker.hpp"
#include "audit/missing_order.hpp"

namespace refrain {
namespace {

/// Two nodes that should have been ordered.
struct Pair {
  NodeId from = 0, to = 0;
  const Failure* failure = nullptr;
};

class Grouping {
 public:
  Grouping(const FactsResult& facts, const Topology& topology, bool is_body)
      : facts_(facts), topology_(topology), is_body_(is_body), order_(topology) {}

  Causes run() {
    std::vector<const Failure*> sure;
    for (const Failure& failure : facts_.failures) (is_open(failure) ? causes_.open : sure).push_back(&failure);
    const auto causes = drop_consequences(sure);
    note_nodes(causes);
    group_unordered(causes);
    for (const auto& group : linker_.groups()) causes_.groups.push_back(group);
    for (Causes::Group& group : causes_.groups)
      std::stable_sort(group.begin(), group.end(),
                       [](const Failure* a, const Failure* b) { return rank(*a) < rank(*b); });
    group_races();
    return std::move(causes_);
  }

 private:
  static int rank(const Failure& failure) {
    switch (failure.fact) {
      case Fact::zeroed: return 0;
      case Fact::pad_fixed: return 1;
      case Fact::finite: return 2;
      case Fact::written: break;
    }
    return 3;
  }

  // In a body, what is missing may come from outside, unless a write inside undid it.
  [[nodiscard]] bool is_open(const Failure& failure) const {
    if (failure.unknown) return true;
    return is_body_ && !failure.destroyer && (failure.kind == FailureKind::missing || failure.late);
  }

  // Bytes that a node finds in a wrong state are one fault, also where they were never written at all.
  static std::vector<const Failure*> drop_consequences(const std::vector<const Failure*>& failures) {
    std::set<std::pair<NodeId, BufferId>> wrong;
    for (const Failure* failure : failures)
      if (failure->fact != Fact::written) wrong.insert({failure->node, failure->buffer});
    std::vector<const Failure*> kept;
    for (const Failure* failure : failures)
      if (failure->fact != Fact::written || !wrong.contains({failure->node, failure->buffer})) kept.push_back(failure);
    return kept;
  }

  /// The two nodes of an unordered failure that a missing edge explains; none when the giver comes too late.
  [[nodiscard]] std::optional<Pair> pair_of(const Failure& failure) const {
    if (failure.kind != FailureKind::unordered || failure.late) return std::nullopt;
    const auto parallel = [&](std::optional<NodeId> node) { return node && !topology_.ordered(*node, failure.node); };
    if (parallel(failure.destroyer)) return Pair{*failure.destroyer, failure.node, &failure};
    if (parallel(failure.giver)) return Pair{*failure.giver, failure.node, &failure};
    if (failure.giver && failure.destroyer && !topology_.ordered(*failure.giver, *failure.destroyer))
      return Pair{*failure.destroyer, *failure.giver, &failure};
    return std::nullopt;
  }

  // The edge that is missing is the one from the last giver to the first consumer: taken first, it explains the rest.
  void group_unordered(const std::vector<const Failure*>& failures) {
    std::vector<Pair> pairs;
    for (const Failure* failure : failures) {
      if (const auto pair = pair_of(*failure))
        pairs.push_back(*pair);
      else
        link(*failure);
    }
    const auto key = [&](const Pair& pair) {
      return std::tuple(topology_.position(pair.to), -std::int64_t{topology_.position(pair.from)});
    };
    std::stable_sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) { return key(a) < key(b); });
    for (const Pair& pair : pairs) {
      auto edge = order_.explains(pair.from, pair.to);
      if (!edge) edge = order_.widen(pair.from, pair.to);
      if (!edge) {
        edge = order_.add(pair.from, pair.to);
        causes_.groups.emplace_back();
      }
      causes_.groups[*edge].push_back(pair.failure);
    }
  }

  void note_nodes(const std::vector<const Failure*>& failures) {
    for (const Failure* failure : failures) {
      if (failure->late) late_.insert(*failure->giver);
      if (failure->late) late_for_.emplace(failure->node, *failure->giver);
      if (is_unwritten(*failure)) starved_.insert(failure->node);
    }
  }

  static bool is_unwritten(const Failure& failure) {
    return failure.fact == Fact::written && failure.kind == FailureKind::missing;
  }

  // Nobody gives it in this graph, and nobody undoes it.
  static bool is_absent(const Failure& failure) {
    return failure.kind == FailureKind::missing || (failure.kind == FailureKind::entry_lost && !failure.destroyer);
  }

  // A node that comes too late is one cause, with all that it gives too late and all that it then writes over; where it
  // lacks itself what it passes on, who comes too late for it is the same. Reads of
  // what nobody writes hang together by reader and buffer, with what else the reader lacks: one launch left out may
  // have been to do it all. Beyond that one fact of one buffer with one giver is one cause.
  void link(const Failure& failure) {
    using Key = Linker<const Failure*>::Key;
    const std::uint64_t giver = failure.giver ? std::uint64_t{*failure.giver} + 1 : 0;
    const Key own{4 + static_cast<int>(failure.kind), static_cast<std::uint64_t>(failure.fact), failure.buffer, giver};
    const Key reader{1, failure.node, 0, 0};
    if (failure.late)
      linker_.add(
          &failure,
          {{2, *failure.giver, 0, 0}, {3, failure.node, failure.buffer, 0}, {3, *failure.giver, failure.buffer, 0}});
    else if (failure.destroyer && late_.contains(*failure.destroyer))
      linker_.add(&failure, {{2, *failure.destroyer, 0, 0}});
    else if (failure.kind == FailureKind::entry_lost && !failure.destroyer && late_for_.contains(failure.node))
      linker_.add(&failure, {{2, late_for_.at(failure.node), 0, 0}});
    else if (is_unwritten(failure))
      linker_.add(&failure, {{0, failure.buffer, 0, 0}, reader});
    else if (is_absent(failure) && starved_.contains(failure.node))
      linker_.add(&failure, {own, reader});
    else
      linker_.add(&failure, {own});
  }

  void group_races() {
    std::vector<const Race*> left;
    for (const Race& race : facts_.races)
      if (!order_.explains(race.a, race.b) && !order_.widen(race.a, race.b)) left.push_back(&race);
    const auto key = [&](const Race* race) {
      return std::tuple(topology_.position(race->b), -std::int64_t{topology_.position(race->a)}, race->buffer);
    };
    std::stable_sort(left.begin(), left.end(), [&](const Race* a, const Race* b) { return key(a) < key(b); });
    MissingOrder order(topology_);
    std::map<BufferId, std::size_t> of_buffer;
    for (const Race* race : left) {
      auto group = order.explains(race->a, race->b);
      if (!group) group = order.widen(race->a, race->b);
      if (const auto found = of_buffer.find(race->buffer); !group && found != of_buffer.end()) group = found->second;
      if (!group) {
        group = order.add(race->a, race->b);
        causes_.races.emplace_back();
      }
      of_buffer.emplace(race->buffer, *group);
      causes_.races[*group].push_back(race);
    }
  }

  const FactsResult& facts_;
  const Topology& topology_;
  bool is_body_;
  MissingOrder order_;
  std::set<NodeId> late_, starved_;    ///< givers behind their consumers; readers of what nobody writes
  std::map<NodeId, NodeId> late_for_;  ///< by consumer: a giver behind it
  Linker<const Failure*> linker_;
  Causes causes_;
};

}  // namespace

Causes find_causes(const FactsResult& facts, const Topology& topology, bool is_body) {
  return Grouping(facts, topology, is_body).run();
}

}  // namespace refrain
