// Could cudaGraphExecUpdate bring a graph exec of one graph to another, without
// instantiating again (about a tenth of the cost)? Answered from the limits that
// cuda.h states for cuGraphExecUpdate (CUDA 13.0). CUDA pairs nodes by the order
// in which they and their edges were made; so does this, taking both graphs to
// be captured by the same code. What a graph does not show (contexts, dynamic
// parallelism, cooperative launches, priorities) is taken to be equal.
#pragma once

#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

struct ExecUpdate {
  std::vector<std::string> refused;   ///< what CUDA answers with graph_exec_update_failure, one sentence each
  std::vector<std::string> may_fail;  ///< allowed, but CUDA promises nothing
  std::size_t absorbed = 0;           ///< nodes, bodies included, with new parameters, dims, functions or addresses

  [[nodiscard]] bool possible() const noexcept { return refused.empty(); }
};

[[nodiscard]] ExecUpdate exec_update(const Graph& from, const Graph& to);

}  // namespace refrain
