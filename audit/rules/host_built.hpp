// Copies from pageable host memory into what only the device should fill: rule
// 205 reports them, and rule 103 leaves them to it.
#pragma once

#include <optional>
#include <string>

#include "graphs/graph.hpp"

namespace refrain {

/// The plan, workspace or scratch buffer that this node fills from pageable memory, if it does.
[[nodiscard]] std::optional<BufferId> filled_from_host(const Graph& graph, NodeId node);

}  // namespace refrain
