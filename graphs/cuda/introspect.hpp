// A cudaGraph_t as plain data: every node kind, edges with their kind, kernel
// names and parameters, child graphs, and the allocations that its addresses
// lead into. It reads and never changes; CUDA tells which pointers a kernel was
// given, not what it does with them, so no access is attached here. Bodies of
// conditional nodes have no getter in CUDA 13.0 and are listed as unseen.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

struct IntrospectedGraph {
  Graph graph;
  std::vector<std::uint64_t> handles;  ///< the cudaGraphNode_t of node i as a number
};

/// Throws Error{driver}. Not during a capture of the same graph.
[[nodiscard]] IntrospectedGraph introspect_graph(cudaGraph_t graph);

}  // namespace refrain
