// Look-ups from the work inside a replay back to its capture, where the input
// tells (Timeline::graph_nodes). Nothing is guessed: what is not told is null.
#pragma once

#include <cstdint>

#include "traces/timeline.hpp"

namespace refrain {

/// Of a WorkEvent's process and graph_node.
[[nodiscard]] const GraphNodeEvent* find_graph_node(const Timeline& timeline, std::uint32_t process,
                                                    std::uint64_t node);
/// Nodes of the graph exec `exec` of a process that were cloned from captured ones; an exec's id is the upper half of
/// its nodes' ids.
[[nodiscard]] std::uint64_t captured_nodes_of(const Timeline& timeline, std::uint32_t process, std::uint32_t exec);
/// The innermost range around the call that captured the node, of that call's thread.
[[nodiscard]] const RangeEvent* capture_range(const Timeline& timeline, const GraphNodeEvent& node);

}  // namespace refrain
