// Whether a path leads from one node to another, as a table of bits: nodes squared,
// so for graphs of a step's size. It shares no code with graphs/topology on purpose:
// what judges the audit must not rest on what the audit rests on.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain::mutate {

class Paths {
 public:
  /// The graph has no cycle.
  explicit Paths(const Graph& graph);
  [[nodiscard]] bool lead(NodeId from, NodeId to) const { return (bits_[from][to / 64] >> (to % 64)) & 1; }
  [[nodiscard]] bool apart(NodeId a, NodeId b) const { return a != b && !lead(a, b) && !lead(b, a); }

 private:
  std::vector<std::vector<std::uint64_t>> bits_;  // [from][to]
};

}  // namespace refrain::mutate
