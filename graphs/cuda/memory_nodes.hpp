// The nodes that move, fill, take and give back memory, as data. They say
// exactly what they touch when it is one run of bytes; of a strided copy or
// fill the strided side keeps no address, because a range would say too much,
// and the graph gets a note.
#pragma once

#include "graphs/cuda/known_memory.hpp"

namespace refrain {

/// Each returns false where a side is strided. Throw Error{driver}.
[[nodiscard]] bool read_memcpy_node(const DriverCalls& calls, const KnownMemory& memory, cudaGraphNode_t from,
                                    Node& to);
[[nodiscard]] bool read_memset_node(cudaGraphNode_t from, Node& to);
void read_alloc_node(cudaGraphNode_t from, Node& to);
void read_free_node(cudaGraphNode_t from, Node& to);

}  // namespace refrain
