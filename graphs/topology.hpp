// Order and reachability over a graph's edges. Chains: the nodes are covered by
// paths, and each node knows the last position of every chain that reaches it,
// so "a before b" is one comparison and memory is nodes x chains, never nodes
// squared; where even that is too much, it searches on demand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

/// The reach table holds at most this many entries of four bytes.
inline constexpr std::size_t kReachTableEntries = std::size_t{64} << 20;

class Topology {
 public:
  /// Throws Error{input} that names a node of the cycle, or an edge to no node.
  /// Over `table_limit` entries `before` searches on demand; 0 builds no table at all.
  explicit Topology(const Graph& graph, std::size_t table_limit = kReachTableEntries);

  /// All nodes, every edge pointing forward; ties in id order.
  [[nodiscard]] std::span<const NodeId> order() const noexcept { return order_; }
  [[nodiscard]] std::uint32_t position(NodeId node) const noexcept { return position_[node]; }
  [[nodiscard]] std::span<const NodeId> predecessors(NodeId node) const noexcept;
  [[nodiscard]] std::span<const NodeId> successors(NodeId node) const noexcept;

  /// A path leads from `a` to `b`; false for a == b.
  [[nodiscard]] bool before(NodeId a, NodeId b) const;
  [[nodiscard]] bool ordered(NodeId a, NodeId b) const { return before(a, b) || before(b, a); }

  [[nodiscard]] std::size_t chain_count() const noexcept { return chain_count_; }
  [[nodiscard]] bool has_reach_table() const noexcept { return !reach_.empty(); }
  /// The longest path by node count, first to last; empty for an empty graph.
  [[nodiscard]] std::vector<NodeId> critical_path() const;

 private:
  void index_edges(const Graph& graph);
  void sort(const Graph& graph);
  void cover_with_chains();
  void fill_reach_table();
  [[nodiscard]] bool search(NodeId a, NodeId b) const;

  std::vector<NodeId> order_;
  std::vector<std::uint32_t> position_;
  std::vector<NodeId> in_, out_;
  std::vector<std::uint32_t> in_begin_, out_begin_;
  std::size_t chain_count_ = 0;
  std::vector<std::uint32_t> chain_, rank_;  // per node: its chain, and 1-based place in it
  std::vector<std::uint32_t> reach_;         // [node, chain]: highest rank that reaches the node; empty = on demand
};

}  // namespace refrain
