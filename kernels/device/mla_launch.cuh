// Which shapes the sparse MLA kernels take, and the choice of the instance: the
// record format, and the largest number of heads a block that divides the heads.
#pragma once

#include <cassert>
#include <cstdint>

#include "kernels/device/mla_shape.cuh"
#include "kernels/sparse_mla.hpp"

namespace refrain::device {

inline void assert_mla_shape([[maybe_unused]] const SparseMlaArgs& args) {
  assert(args.pool.pages > 0 && args.pool.page_size > 0 && args.pool.slots() <= INT32_MAX);
  assert(args.rows > 0 && args.heads > 0 && args.heads % 8 == 0 && args.topk > 0 && args.chunk == 64);
  assert(reinterpret_cast<std::uintptr_t>(args.pool.data) % 16 == 0);
  assert(reinterpret_cast<std::uintptr_t>(args.q) % 16 == 0);
}

template <MlaRecord kRecord, class Launch>
void with_head_tiles(std::int32_t heads, Launch launch) {
  if (heads % 64 == 0) return launch(MlaShape<kRecord, 8>{});
  if (heads % 32 == 0) return launch(MlaShape<kRecord, 4>{});
  if (heads % 16 == 0) return launch(MlaShape<kRecord, 2>{});
  launch(MlaShape<kRecord, 1>{});
}

/// `launch` is called with a value of the MlaShape that serves `args`.
template <class Launch>
void with_mla_shape(const SparseMlaArgs& args, Launch launch) {
  if (args.pool.record == MlaRecord::bf16) return with_head_tiles<MlaRecord::bf16>(args.heads, launch);
  if (args.pool.record == MlaRecord::e4m3_656) return with_head_tiles<MlaRecord::e4m3_656>(args.heads, launch);
  with_head_tiles<MlaRecord::e4m3_584>(args.heads, launch);
}

/// Launches `kernel` with a block a (row, split, head group).
template <class Shape>
void launch_mla(void (*kernel)(SparseMlaArgs), const SparseMlaArgs& args, std::int32_t splits, cudaStream_t stream) {
  const std::int64_t blocks = std::int64_t{args.rows} * splits * (args.heads / Shape::kHeads);
  assert(blocks <= INT32_MAX);
  // Not a stream operation, so legal in a capture; should it fail, so does the launch, and the driver reads that.
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes);
  kernel<<<static_cast<unsigned>(blocks), Shape::kThreads, Shape::kSharedBytes, stream>>>(args);
}

}  // namespace refrain::device
