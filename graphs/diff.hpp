// What differs between two graphs: nodes that only one has, nodes that both have
// with other launches or contracts, and edges between nodes that both have. Nodes
// are matched in topological order by what they are (kind, op or kernel name),
// so a node put in the middle is one difference, not a shift of all that follow.
// Addresses, parameter bytes and handles never count.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

struct NodeChange {
  NodeId a = 0, b = 0;
  std::string what;  ///< `grid 2x3x1 -> 4x3x1; reads 64 bytes more of kv_pool`
};

struct EdgeRef {
  NodeId from = 0, to = 0;
  EdgeKind kind = EdgeKind::full;
};

struct GraphDiff {
  std::vector<NodeId> removed;  ///< ids of the first graph
  std::vector<NodeId> added;    ///< ids of the second
  std::vector<NodeChange> changed;
  std::vector<EdgeRef> edges_removed;  ///< ids of the first graph, both ends matched
  std::vector<EdgeRef> edges_added;    ///< ids of the second
  std::vector<std::string> bodies;     ///< differences inside matched child and conditional nodes, one line each

  [[nodiscard]] bool empty() const;
};

[[nodiscard]] GraphDiff diff_graphs(const Graph& a, const Graph& b);

/// How many nodes of one kind, and of one op or kernel, a graph has; bodies included.
struct CensusRow {
  std::string what;  ///< `kernel grouped_attention`, `memset`
  std::size_t a = 0, b = 0;
};
/// Both graphs side by side, in the order of the words.
[[nodiscard]] std::vector<CensusRow> census(const Graph& a, const Graph& b);

}  // namespace refrain
