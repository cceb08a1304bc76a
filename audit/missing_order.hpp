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

  /// The first edge that would order the two, either way round; both nodes may be its own ends.
  [[nodiscard]] std::optional<std::size_t> explains(NodeId a, NodeId b) const {
    for (std::size_t i = 0; i < edges_.size() && i < kConsidered; ++i)
      if (orders(edges_[i], a, b) || orders(edges_[i], b, a)) return i;
    return std::nullopt;
  }

 private:
  struct Missing {
    NodeId from = 0, to = 0;
  };
  // A graph with this many is one with none: to go on looking would only cost time.
  static constexpr std::size_t kConsidered = 64;

  [[nodiscard]] bool orders(const Missing& edge, NodeId a, NodeId b) const {
    return (a == edge.from || topology_->before(a, edge.from)) && (b == edge.to || topology_->before(edge.to, b));
  }

  const Topology* topology_;
  std::vector<Missing> edges_;
};

}  // namespace refrain
