// A graph as the driver shows it, joined with what its maker says of it: contracts,
// buffers and their roles, entry facts, names. Nodes, edges, launch dims and what
// copies and fills do stay the driver's; a description that is of other nodes is
// refused as a whole, because half of it would turn a broken graph into a clean one.
#pragma once

#include <string>

#include "graphs/graph.hpp"

namespace refrain {

/// `described` has the nodes of `seen` in their order; its edges are not looked at. A node with a contract brings its
/// parameters, where it has some: what padding held tells nothing. Empty, or why `seen` is as it was.
[[nodiscard]] std::string join_description(Graph& seen, Graph&& described);

}  // namespace refrain
