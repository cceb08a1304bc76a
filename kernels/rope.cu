// One block a row. It first makes the row's cosines and sines once for all heads.
// Then a thread turns 8 pairs.
// Floor: 4 * rows * (heads + kv_heads) * rotary_dim bytes (read and written, 2 bytes
// each) over the memory's bandwidth. In a decode step the fp64 exponential, a few
// hundred instructions deep, and one trip to memory are what is waited for.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/rotation.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/launchers.hpp"
#include "kernels/rope.hpp"
#include "kernels/row_count.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kThreads = 256, kMaxPairs = 512;

/// V pairs: elements [first, first + V) and as many `half` elements on.
template <int V>
__device__ void rotate(void* data, Dtype dtype, std::int64_t first, std::int32_t half, const float2* turns) {
  float low[V], high[V];
  device::load_floats<V>(data, dtype, first, low);
  device::load_floats<V>(data, dtype, first + half, high);
  device::rotate<V>(low, high, turns);
  device::store_floats<V>(data, dtype, first, low);
  device::store_floats<V>(data, dtype, first + half, high);
}

template <int V>
__global__ void __launch_bounds__(kThreads) rope_kernel(const RopeArgs args, double octaves) {
  device::wait_for_previous();
  __shared__ float2 turns[kMaxPairs];
  const auto row = static_cast<std::int64_t>(blockIdx.x);
  if (row >= clamp_rows(*args.rows, args.bucket)) return;
  const std::int32_t half = args.rotary_dim / 2, chunks = half / V;
  const auto position = static_cast<double>(args.query_pos[row]);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  for (std::int32_t i = thread; i < half; i += kThreads)
    turns[i] = device::turn_of(position, device::turns_a_token(i, octaves));
  __syncthreads();
  for (std::int32_t at = thread; at < (args.heads + args.kv_heads) * chunks; at += kThreads) {
    const std::int32_t head = at / chunks, i = at % chunks * V;
    if (head < args.heads)
      rotate<V>(args.q, args.dtype, (row * args.heads + head) * args.dim + i, half, turns + i);
    else
      rotate<V>(args.k, args.dtype, (row * args.kv_heads + head - args.heads) * args.dim + i, half, turns + i);
  }
}

void launch_at(const RopeArgs& args, KernelPlace place) {
  assert_half(args.dtype);
  assert(args.bucket > 0 && args.heads > 0 && args.kv_heads > 0 && args.theta > 0);
  assert(args.rotary_dim > 0 && args.rotary_dim % 2 == 0 && args.rotary_dim <= args.dim);
  assert(args.rotary_dim <= 2 * kMaxPairs);
  const auto grid = static_cast<unsigned>(args.bucket);
  const double octaves = log2(args.theta) * 2 / args.rotary_dim;
  if (args.rotary_dim % 16 == 0 && args.dim % 8 == 0 && device::aligned16(args.q, args.k))
    launch_kernel(rope_kernel<8>, grid, kThreads, 0, place, args, octaves);
  else
    launch_kernel(rope_kernel<1>, grid, kThreads, 0, place, args, octaves);
}

}  // namespace

void rope_launch(const RopeArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void rope_launch_early(const RopeArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
