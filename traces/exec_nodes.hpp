// How many nodes the graph execs of a timeline hold: by the graphs that they were
// made of, else by the captured nodes that a profiler tells of. An update keeps an
// exec's nodes. An exec that neither tells of is not known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "graphs/graph.hpp"
#include "traces/timeline.hpp"

namespace refrain {

/// All nodes, those of nested bodies in the place of the node that holds them.
[[nodiscard]] std::uint64_t nodes_with_bodies(const Graph& graph);

/// Goes along the calls in order.
class ExecNodes {
 public:
  ExecNodes(const Timeline& timeline, std::span<const Graph> graphs);

  void follow(const ApiEvent& call);
  /// Of the exec with this handle, as it is now.
  [[nodiscard]] std::optional<std::uint64_t> of(std::uint64_t exec);

 private:
  [[nodiscard]] std::uint64_t told_of(std::uint64_t exec);

  struct Tie {
    std::uint64_t sequence = 0, nodes = 0;
  };
  std::unordered_map<std::uint64_t, std::vector<Tie>> ties_;  // by graph handle, in order
  const Timeline& timeline_;
  std::unordered_map<std::uint64_t, std::uint64_t> execs_;
  std::unordered_map<std::uint64_t, std::uint64_t> told_;  // by exec: the profiler's count, 0 where it tells of none
};

}  // namespace refrain
