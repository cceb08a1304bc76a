#include "audit/mutate/paths.hpp"

namespace refrain::mutate {

Paths::Paths(const Graph& graph) : bits_(graph.nodes.size()) {
  const std::size_t count = graph.nodes.size(), words = (count + 63) / 64;
  std::vector<std::vector<NodeId>> next(count), previous(count);
  std::vector<std::size_t> open(count, 0);
  for (const Edge& edge : graph.edges) {
    next[edge.from].push_back(edge.to);
    previous[edge.to].push_back(edge.from);
    ++open[edge.from];
  }
  std::vector<NodeId> ready;
  for (NodeId node = 0; node < count; ++node) {
    bits_[node].assign(words, 0);
    if (open[node] == 0) ready.push_back(node);
  }
  while (!ready.empty()) {  // from the ends backwards
    const NodeId node = ready.back();
    ready.pop_back();
    for (const NodeId to : next[node]) {
      bits_[node][to / 64] |= std::uint64_t{1} << (to % 64);
      for (std::size_t word = 0; word < words; ++word) bits_[node][word] |= bits_[to][word];
    }
    for (const NodeId from : previous[node])
      if (--open[from] == 0) ready.push_back(from);
  }
}

}  // namespace refrain::mutate
