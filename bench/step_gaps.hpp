// What a traced replay of a step says of one decoder layer: how long its kernels ran, and
// what lay between the end of each and the start of the next. Kernels that start early
// overlap those ahead of them, and such a gap is below 0.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "bench/kernel_trace.hpp"
#include "graphs/graph.hpp"

namespace refrain::bench {

struct LayerTimes {
  double kernels_us = 0, gaps_us = 0;  ///< a layer; medians over the replays of the mean over layers
};

/// Nodes of each layer of the step: those of its second.
[[nodiscard]] std::size_t nodes_a_layer(const Graph& graph);

/// Of `records`, by their start, of so many replays; the first and the last layer, which have other neighbours, are
/// left out. Nothing, and the reason, where the records are not one for each kernel node. Throws Error{refused} for a
/// step that is no chain.
[[nodiscard]] std::optional<LayerTimes> layer_times(const Graph& graph, std::span<const KernelTime> records,
                                                    std::size_t replays, std::string& reason);

}  // namespace refrain::bench
