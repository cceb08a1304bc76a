// Which part of a graph is drawn, and where each node stands. Layers follow the
// edges: a node stands below all that it waits for. A big graph is drawn around
// the nodes that matter; what is left out is counted. Time and memory grow with
// the graph's nodes and edges, but for the sort of each layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graphs/topology.hpp"

namespace refrain {

struct DrawnNode {
  NodeId node = 0;
  std::uint32_t layer = 0;  ///< from the top
  double column = 0;        ///< of its middle, in node widths, from the left; two of a layer are at least 1 apart
  std::uint32_t hidden_above = 0;  ///< predecessors that are not drawn
  std::uint32_t hidden_below = 0;  ///< successors that are not drawn
};

struct DrawnEdge {
  std::size_t from = 0, to = 0;  ///< indices into `nodes`
  EdgeKind kind = EdgeKind::full;
};

struct Drawing {
  std::vector<DrawnNode> nodes;  ///< by layer, then from left to right
  std::vector<DrawnEdge> edges;
  std::uint32_t layers = 0;
  double columns = 0;      ///< width in node widths
  std::size_t hidden = 0;  ///< nodes of the graph that are not drawn
};

/// More nodes than this are a wall, and a page of megabytes.
inline constexpr std::size_t kMostDrawn = 300;

/// The nodes to draw, in topological order: all, or those nearest to `focus` over edges, or the first ones where there
/// is no focus. All of `focus` as far as `most` reaches.
[[nodiscard]] std::vector<NodeId> choose_nodes(const Topology& topology, std::span<const NodeId> focus,
                                               std::size_t most = kMostDrawn);

/// `chosen`: in topological order.
[[nodiscard]] Drawing lay_out(const Graph& graph, const Topology& topology, std::span<const NodeId> chosen);

}  // namespace refrain
