// One kernel node as data: name, launch dims and the bytes of its parameters,
// whichever of CUDA's two forms they were given in. The runtime's getter leaves
// the function empty for captured launches, so the driver's is used.
#pragma once

#include "graphs/cuda/driver_calls.hpp"
#include "graphs/graph.hpp"

namespace refrain {

/// False when the parameters could not be read; name and dims are filled all the same. Throws Error{driver}.
[[nodiscard]] bool read_kernel_node(const DriverCalls& calls, cudaGraphNode_t from, Node& to);

}  // namespace refrain
