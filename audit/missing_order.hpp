// Edges that a graph should have had. One that is missing leaves many pairs of
// nodes unordered: everything up to its start against everything from its end
// on. A pair that an edge on the list would have ordered has no cause of its own.
#pragma once

#include <optional>
#include <vector>

#include "graphs/topology.hpp"

namespace refrain {

class MissingOrder {
 public:
  explicit MissingOrder(const Topology& topology) : topology_(&topology) {}

  /// Returns the edge's index.
  std::size_t add(NodeId from, NodeId to) {
    edges_.push_back({from, to});
    return edges_.size() - 1;
  }

  /// One edge may do for a pair and an edge on the list: from the later start to the earlier end, where the two starts
  /// and the two ends have an order. The first such edge takes the place of the one on the list.
  std::optional<std::size_t> widen(NodeId a, NodeId b) {
    for (std::size_t i = 0; i < edges_.size() && i < kConsidered; ++i)
      for (const Missing pair : {Missing{a, b}, Missing{b, a}})
        if (const auto one = joined(edges_[i], pair)) {
          edges_[i] = *one;
          return i;
        }
    return std::nullopt;
  }

  /// The first edge that would order the two, either way round; both nodes may be its own ends. Which end of an edge
  /// was meant to come first is not known, so that it counts turned about, too.
  [[nodiscard]] std::optional<std::size_t> explains(NodeId a, NodeId b) const {
    for (std::size_t i = 0; i < edges_.size() && i < kConsidered; ++i)
      for (const Missing edge : {edges_[i], Missing{edges_[i].to, edges_[i].from}})
        if (orders(edge, a, b) || orders(edge, b, a)) return i;
    return std::nullopt;
  }

 private:
  struct Missing {
    NodeId from = 0, to = 0;
  };
  // A graph with this many is one with none: to go on looking would only cost time.
  static constexpr std::size_t kConsidered = 64;

  [[nodiscard]] bool orders(const Missing& edge, NodeId a, NodeId b) const {
    return leads(a, edge.from) && leads(edge.to, b);
  }

  [[nodiscard]] std::optional<Missing> joined(const Missing& edge, const Missing& pair) const {
    const bool starts = leads(edge.from, pair.from) || leads(pair.from, edge.from);
    const bool ends = leads(edge.to, pair.to) || leads(pair.to, edge.to);
    if (!starts || !ends) return std::nullopt;
    const Missing one{leads(edge.from, pair.from) ? pair.from : edge.from, leads(edge.to, pair.to) ? edge.to : pair.to};
    if (one.from == one.to || topology_->ordered(one.from, one.to)) return std::nullopt;
    return one;
  }

  [[nodiscard]] bool leads(NodeId a, NodeId b) const { return a == b || topology_->before(a, b); }

  const Topology* topology_;
  std::vector<Missing> edges_;
};

}  // namespace refrain
