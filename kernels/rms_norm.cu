// One block a row. A thread holds its first 8 elements in registers between the
// sum and the scaling; only rows wider than 8,192 read the rest a second time, from
// the cache. Floor: rows * width * 2 bytes, times 2 without a residual and 4 with
// it, over the memory's bandwidth. In a decode step, where a row or two leave most
// of the GPU idle, the kernel is one trip to memory and the block's reduction: all but x
// is on its way before the kernel ahead has ended, where that writes none of it.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/round.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/launchers.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/row_count.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kMaxThreads = 1024;

/// The same in every thread, and in the same order of additions whatever else runs.
__device__ float block_sum(float value) {
  __shared__ float of_warp[kMaxThreads / 32];
  const auto warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  value = lane < blockDim.x / 32 ? of_warp[lane] : 0.0f;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

/// x, or the sum of x and what the residual held, as it is stored. Returns the sum of the squares.
template <int V>
__device__ float take(const RmsNormArgs& args, std::int64_t at, const device::HalfRun<V>& residual,
                      float (&values)[V]) {
  device::load_floats<V>(args.x, args.dtype, at, values);
  if (args.residual != nullptr) {
    float before[V];
    residual.decode(args.dtype, before);
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] = device::round_to(args.dtype, values[i] + before[i]);
    device::store_floats<V>(args.residual, args.dtype, at, values);
  }
  float squares = 0;
#pragma unroll
  for (int i = 0; i < V; ++i) squares += values[i] * values[i];
  return squares;
}

template <int V>
__device__ void put(const RmsNormArgs& args, std::int64_t at, float scale, const device::HalfRun<V>& weights,
                    float (&values)[V]) {
  float weight[V];
  weights.decode(args.dtype, weight);
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] = values[i] * scale * weight[i];
  device::store_floats<V>(args.out, args.dtype, at, values);
}

template <int V>
__device__ void zero(const RmsNormArgs& args, std::int64_t row, std::int32_t first, std::int32_t step) {
  const float zeros[V] = {};
  for (std::int32_t at = first; at < args.width; at += step) {
    device::store_floats<V>(args.out, args.dtype, row + at, zeros);
    if (args.residual != nullptr) device::store_floats<V>(args.residual, args.dtype, row + at, zeros);
  }
}

template <int V>
__global__ void __launch_bounds__(kMaxThreads) rms_norm_kernel(const RmsNormArgs args) {
  if (!args.rest_is_done) device::start_next_and_wait();
  const std::int64_t row = std::int64_t{blockIdx.x} * args.width;
  const auto first = static_cast<std::int32_t>(threadIdx.x) * V, step = static_cast<std::int32_t>(blockDim.x) * V;
  const bool real = static_cast<std::int32_t>(blockIdx.x) < clamp_rows(__ldcg(args.rows), args.bucket);
  device::HalfRun<V> weight, residual;
  if (first < args.width) {
    weight.load_past_l1(args.weight, first);
    if (args.residual != nullptr) residual.load_past_l1(args.residual, row + first);
  }
  if (args.rest_is_done) device::start_next_and_wait();
  if (!real) return zero<V>(args, row, first, step);
  float held[V];
  float squares = first < args.width ? take<V>(args, row + first, residual, held) : 0.0f;
  for (std::int32_t at = first + step; at < args.width; at += step) {
    float more[V];
    if (args.residual != nullptr) residual.load_past_l1(args.residual, row + at);
    squares += take<V>(args, row + at, residual, more);
  }
  const float mean = __fdiv_rn(block_sum(squares), static_cast<float>(args.width));
  const float scale = __fdiv_rn(1.0f, __fsqrt_rn(mean + args.eps));
  if (first < args.width) put<V>(args, row + first, scale, weight, held);
  const void* summed = args.residual != nullptr ? args.residual : args.x;
  for (std::int32_t at = first + step; at < args.width; at += step) {
    float more[V];
    device::load_floats<V>(summed, args.dtype, row + at, more);
    weight.load_past_l1(args.weight, at);
    put<V>(args, row + at, scale, weight, more);
  }
}

template <int V>
void launch(const RmsNormArgs& args, KernelPlace place) {
  const std::int32_t chunks = args.width / V;
  const std::int32_t threads = chunks < kMaxThreads ? (chunks + 31) / 32 * 32 : kMaxThreads;
  launch_kernel(rms_norm_kernel<V>, static_cast<unsigned>(args.bucket), static_cast<unsigned>(threads), 0, place, args);
}

void launch_at(const RmsNormArgs& args, KernelPlace place) {
  assert_half(args.dtype);
  assert(args.bucket > 0 && args.width > 0 && args.eps >= 0);
  const bool vector = args.width % 8 == 0 && device::aligned16(args.x, args.weight, args.residual, args.out);
  vector ? launch<8>(args, place) : launch<1>(args, place);
}

}  // namespace

void rms_norm_launch(const RmsNormArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void rms_norm_launch_early(const RmsNormArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
