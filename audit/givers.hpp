// Who establishes which fact where: an index over one graph that is asked only
// once a need has failed, to say why. It holds no verdict.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "graphs/graph.hpp"
#include "graphs/topology.hpp"

namespace refrain {

class Givers {
 public:
  Givers(const Graph& graph, const Topology& topology);

  /// The last node before `consumer` that establishes the fact on a part of `range`.
  [[nodiscard]] std::optional<NodeId> before(NodeId consumer, Fact fact, BufferId buffer, ByteRange range) const;
  /// A node that does so and is not before `consumer`: parallel to it, or after; never `consumer` itself.
  [[nodiscard]] std::optional<NodeId> not_before(NodeId consumer, Fact fact, BufferId buffer, ByteRange range) const;
  [[nodiscard]] bool gives(NodeId node, Fact fact, BufferId buffer, ByteRange range) const;

 private:
  struct Giver {
    NodeId node = 0;
    ByteRange range;
  };
  void add(NodeId node, Fact fact, BufferId buffer, ByteRange range);
  [[nodiscard]] const std::vector<Giver>& of(Fact fact, BufferId buffer) const;
  [[nodiscard]] std::size_t from(const std::vector<Giver>& givers, NodeId node) const;

  const Topology& topology_;
  std::array<std::vector<std::vector<Giver>>, 4> by_fact_;  // [fact][buffer], in topological order
};

}  // namespace refrain
