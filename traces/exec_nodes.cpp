#include "traces/exec_nodes.hpp"

#include "traces/graph_nodes.hpp"

namespace refrain {

std::uint64_t nodes_with_bodies(const Graph& graph) {
  std::uint64_t count = 0;
  for (const Node& node : graph.nodes) {
    if (node.bodies.empty()) ++count;
    for (const Graph& body : node.bodies) count += nodes_with_bodies(body);
  }
  return count;
}

ExecNodes::ExecNodes(const Timeline& timeline, std::span<const Graph> graphs) : timeline_(timeline) {
  for (const GraphEvent& event : timeline.graphs)
    if (event.graph < graphs.size())
      ties_[event.handle].push_back({event.sequence, nodes_with_bodies(graphs[event.graph])});
}

void ExecNodes::follow(const ApiEvent& call) {
  if (call.code != 0) return;
  if (call.api == Api::graph_exec_destroy) execs_.erase(call.object);
  if (call.api != Api::graph_instantiate || call.made == 0) return;
  const auto ties = ties_.find(call.object);
  if (ties == ties_.end()) {
    execs_.erase(call.made);
    return;
  }
  // A handle may be used again: the last graph that it meant before, else the first that it came to mean.
  std::uint64_t nodes = ties->second.front().nodes;
  for (const Tie& tie : ties->second)
    if (tie.sequence < call.sequence) nodes = tie.nodes;
  execs_[call.made] = nodes;
}

std::optional<std::uint64_t> ExecNodes::of(std::uint64_t exec) {
  if (const auto at = execs_.find(exec); at != execs_.end()) return at->second;
  const std::uint64_t told = timeline_.graph_nodes.empty() ? 0 : told_of(exec);
  return told == 0 ? std::nullopt : std::optional(told);
}

// A profiler's handle of an exec is its process above its id.
std::uint64_t ExecNodes::told_of(std::uint64_t exec) {
  const auto [at, fresh] = told_.try_emplace(exec, 0);
  if (fresh)
    at->second = captured_nodes_of(timeline_, static_cast<std::uint32_t>(exec >> 32), static_cast<std::uint32_t>(exec));
  return at->second;
}

}  // namespace refrain
