// One block a row and plane. All heads of a token are one contiguous run in the
// input and in the pool, so a row is cut into chunks of 16 stored bytes; an
// element at a time only where shape or pointers are not aligned for that.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/selection.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/kv_append.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kMaxThreads = 256;

/// Element offset of the K run that a row is written to, or -1.
__device__ std::int64_t target_of_row(const KvAppendArgs& args, std::int32_t row) {
  const bool pad = row >= device::real_rows(args.batch);
  if (pad && !args.pad_rows_to_null_block) return -1;
  const std::int64_t slot = pad ? row % args.pool.page_size : device::append_slot(args.batch, args.pool, row);
  return slot == device::kNone ? -1 : args.pool.slot_offset(slot);
}

template <int V>
__global__ void __launch_bounds__(kMaxThreads) kv_append_kernel(const KvAppendArgs args) {
  device::wait_for_previous();
  const std::int32_t row = static_cast<std::int32_t>(blockIdx.x);
  const bool is_v = blockIdx.y != 0;
  const std::int64_t target = target_of_row(args, row);
  if (target < 0) return;
  const std::int32_t width = args.pool.kv_heads * args.pool.dim;
  const std::int64_t from = std::int64_t{row} * width, to = target + (is_v ? args.pool.plane_elements() : 0);
  const void* source = is_v ? args.v : args.k;
  const float scale = is_v ? *args.v_scale : *args.k_scale;
  for (std::int32_t at = static_cast<std::int32_t>(threadIdx.x) * V; at < width;
       at += static_cast<std::int32_t>(blockDim.x) * V) {
    float values[V];
    device::load_floats<V>(source, args.input_dtype, from + at, values);
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] = device::divide(values[i], scale);
    device::store_floats<V>(args.pool.data, args.pool.dtype, to + at, values);
  }
}

bool aligned16(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

template <int V>
void launch(const KvAppendArgs& args, KernelPlace place) {
  const std::int32_t chunks = args.pool.kv_heads * args.pool.dim / V;
  const std::int32_t threads = chunks < kMaxThreads ? (chunks + 31) / 32 * 32 : kMaxThreads;
  const dim3 grid(static_cast<unsigned>(args.batch.bucket), 2);
  launch_kernel(kv_append_kernel<V>, grid, static_cast<unsigned>(threads), 0, place, args);
}

void launch_at(const KvAppendArgs& args, KernelPlace place) {
  assert_pool_shape(args.pool);
  assert(args.batch.bucket > 0);
  assert(args.input_dtype == Dtype::fp16 || args.input_dtype == Dtype::bf16 || args.input_dtype == Dtype::fp32);
  const std::int32_t per_chunk = 16 / static_cast<std::int32_t>(dtype_bytes(args.pool.dtype));
  const bool aligned = args.pool.kv_heads * args.pool.dim % per_chunk == 0 && aligned16(args.k) && aligned16(args.v) &&
                       aligned16(args.pool.data);
  if (!aligned) return launch<1>(args, place);
  return per_chunk == 16 ? launch<16>(args, place) : launch<8>(args, place);
}

}  // namespace

void kv_append_launch(const KvAppendArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void kv_append_launch_early(const KvAppendArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
