// The kernels that benches need beside the ops: filling and plain reading.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "graphs/contract.hpp"

namespace refrain::bench {

/// `bytes` is a multiple of 16; random finite values of `dtype` in [-2, 2).
void launch_fill(void* data, Dtype dtype, std::int64_t bytes, std::uint32_t seed, cudaStream_t stream);

/// Reads `bytes` (a multiple of 16) once, by at most `blocks` blocks; `sink` is written for one certain content only.
void launch_read(const void* data, std::int64_t bytes, int blocks, std::uint32_t* sink, cudaStream_t stream);

/// Reads `bytes` (a power of two, from 16 on) about `passes` times past the L1; `sink` as above.
void launch_reread(const void* data, std::int64_t bytes, int passes, int blocks, std::uint32_t* sink,
                   cudaStream_t stream);

}  // namespace refrain::bench
