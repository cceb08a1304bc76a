// The backward sweep: which needs have a writer that is parallel to their node
// and comes later in the topological order, so that the forward sweep meets the
// consumer first and cannot see it.
#pragma once

#include <optional>
#include <vector>

#include "audit/segments.hpp"
#include "graphs/graph.hpp"
#include "graphs/topology.hpp"

namespace refrain {

class LaterWriters {
 public:
  /// One for a segment of a need at most.
  struct Hit {
    NodeId node = 0;  ///< the consumer
    std::size_t segment = 0;
    NodeId writer = 0;
  };

  LaterWriters(const Graph& graph, const Topology& topology, const Segments& segments);

  /// The parallel later writer of a segment that `node` needs a fact of, if there is one.
  [[nodiscard]] std::optional<NodeId> of(NodeId node, std::size_t segment) const;

 private:
  void sweep(const Graph& graph, const Topology& topology, const Segments& segments);
  std::vector<Hit> hits_;  // by node, then segment
};

/// The segments that `node` writes or establishes a fact on, once each.
void written_segments(const Node& node, const Segments& segments, std::vector<std::size_t>& into);

}  // namespace refrain
