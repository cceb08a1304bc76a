#include "bench/step_gaps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/result.hpp"
#include "graphs/error.hpp"

namespace refrain::bench {
namespace {

constexpr std::string_view kLayer = "llama/layer ";

bool is_layer(const Node& node, std::size_t number) {
  return node.scope == fmt::format("{}{}", kLayer, number);
}

std::size_t layers_of(const Graph& graph) {
  std::size_t layers = 0;
  while (std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) { return is_layer(n, layers); }))
    ++layers;
  return layers;
}

/// The nodes from the first to the last, which is the order that they run in.
std::vector<NodeId> chain_of(const Graph& graph) {
  constexpr auto kNone = static_cast<NodeId>(-1);
  std::vector<NodeId> next(graph.nodes.size(), kNone), chain;
  std::vector<bool> follows(graph.nodes.size(), false);
  for (const Edge& edge : graph.edges) next[edge.from] = edge.to, follows[edge.to] = true;
  const auto first = std::find(follows.begin(), follows.end(), false);
  for (auto at = static_cast<NodeId>(first - follows.begin());
       at < graph.nodes.size() && chain.size() < graph.nodes.size(); at = next[at])
    chain.push_back(at);
  if (chain.size() != graph.nodes.size() || graph.edges.size() + 1 != graph.nodes.size())
    throw Error(ErrorKind::refused, graph.name, "the step is no chain of nodes", "bench_step");
  return chain;
}

double us(std::uint64_t from_ns, std::uint64_t to_ns) {
  return static_cast<double>(static_cast<std::int64_t>(to_ns - from_ns)) * 1e-3;
}

}  // namespace

std::size_t nodes_a_layer(const Graph& graph) {
  return static_cast<std::size_t>(
      std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return is_layer(n, 1); }));
}

std::optional<LayerTimes> layer_times(const Graph& graph, std::span<const KernelTime> records, std::size_t replays,
                                      std::string& reason) {
  const std::size_t layers = layers_of(graph);
  std::vector<bool> inner;  // by kernel of a replay: of a layer that counts
  for (const NodeId id : chain_of(graph)) {
    const Node& node = graph.nodes[id];
    if (node.kind != NodeKind::kernel) continue;
    inner.push_back(node.scope.starts_with(kLayer) && !is_layer(node, 0) && !is_layer(node, layers - 1));
  }
  if (layers < 3 || records.size() != replays * inner.size()) {
    reason = fmt::format("{} kernel records of {} replays of {} layers and {} kernel nodes", records.size(), replays,
                         layers, inner.size());
    return std::nullopt;
  }
  std::vector<double> kernels, gaps;
  for (std::size_t replay = 0; replay < replays; ++replay) {
    const auto of_replay = records.subspan(replay * inner.size(), inner.size());
    double ran = 0, between = 0;
    for (std::size_t i = 1; i < inner.size(); ++i) {
      if (!inner[i]) continue;
      ran += us(of_replay[i].start_ns, of_replay[i].end_ns);
      between += us(of_replay[i - 1].end_ns, of_replay[i].start_ns);
    }
    kernels.push_back(ran / static_cast<double>(layers - 2));
    gaps.push_back(between / static_cast<double>(layers - 2));
  }
  return LayerTimes{times_of(kernels).median_us, times_of(gaps).median_us};
}

}  // namespace refrain::bench
