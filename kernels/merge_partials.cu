// Up to 32 splits: a warp a (slot, head), no barrier. More: one block a (slot, head). First all threads find the
// largest LSE and turn each LSE into a weight; then the block stands as lanes x runs of V dims: lane l sums splits l, l
// + lanes, ..., and the lanes are added in their order. Every order is fixed by Args and the length, so a replay gives
// the same bits.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/launchers.hpp"
#include "kernels/merge_partials.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kMaxThreads = 256;
constexpr std::int32_t kChunk = 512;  ///< weights kept in shared memory at a time
constexpr std::int32_t kFewThreads = 256;
constexpr std::uint32_t kQuietNan = 0x7FC00000u;  ///< the host's, so that both give the same bits
constexpr float kNegativeInf = -__builtin_huge_valf();

struct Shape {
  std::int32_t lanes = 1;  ///< splits that are summed side by side
  std::int32_t runs = 1;   ///< threads a lane
};

/// Over the whole block, the same value in every thread, in an order that the block's size fixes.
template <class Combine>
__device__ float reduce_block(float value, float neutral, float* scratch, Combine combine) {
  for (int offset = 16; offset > 0; offset /= 2) value = combine(value, __shfl_xor_sync(~0u, value, offset));
  __syncthreads();  // scratch may still be read by the reduction before
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  value = neutral;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) value = combine(value, scratch[warp]);
  return value;
}

template <int V>
__device__ void store_row(const MergePartialsArgs& args, std::int64_t at, float value, float lse) {
  float values[V];
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] = value;
  for (std::int32_t d = static_cast<std::int32_t>(threadIdx.x) * V; d < args.dim;
       d += static_cast<std::int32_t>(blockDim.x) * V)
    device::store_floats<V>(args.out, args.out_dtype, at * args.dim + d, values);
  if (threadIdx.x == 0) args.lse[at] = lse;
}

/// sum over this lane's splits of one chunk: weight x partial, for V dims from `d`.
template <int V>
__device__ void add_splits(const MergePartialsArgs& args, std::int64_t first, std::int32_t count, const float* weights,
                           std::int32_t lane, std::int32_t lanes, std::int32_t d, float (&sum)[V]) {
#pragma unroll 4
  for (std::int32_t p = lane; p < count; p += lanes) {
    float partial[V];
    device::load_floats<V>(args.partials, args.partial_dtype, (first + p) * args.dim + d, partial);
#pragma unroll
    for (int i = 0; i < V; ++i) sum[i] += weights[p] * partial[i];
  }
}

template <int V>
__device__ void merge_head(const MergePartialsArgs& args, const Shape& shape, std::int64_t from, std::int64_t at,
                           std::int32_t splits) {
  __shared__ float weights[kChunk], scratch[kMaxThreads / 32];
  __shared__ float sums[kMaxThreads * V];
  const auto thread = static_cast<std::int32_t>(threadIdx.x), threads = static_cast<std::int32_t>(blockDim.x);
  const float* lse = args.partial_lse + from * args.partitions;
  float max = kNegativeInf;
  for (std::int32_t p = thread; p < splits; p += threads) max = fmaxf(max, lse[p]);
  max = reduce_block(max, kNegativeInf, scratch, [](float a, float b) { return fmaxf(a, b); });
  const float base = max == kNegativeInf ? 0.0f : max;

  const std::int32_t lane = thread / shape.runs, run = thread % shape.runs;
  const std::int32_t sweep = shape.runs * V;
  float total = 0;
  for (std::int32_t d0 = 0; d0 < args.dim; d0 += sweep) {
    const std::int32_t d = d0 + run * V;
    const bool working = lane < shape.lanes && d < args.dim;
    float sum[V] = {}, mine = 0;
    for (std::int32_t p0 = 0; p0 < splits; p0 += kChunk) {
      const std::int32_t count = min(kChunk, splits - p0);
      __syncthreads();
      for (std::int32_t p = thread; p < count; p += threads) {
        weights[p] = expf(lse[p0 + p] - base);
        mine += weights[p];
      }
      __syncthreads();
      if (working) add_splits<V>(args, from * args.partitions + p0, count, weights, lane, shape.lanes, d, sum);
    }
    total = reduce_block(mine, 0.0f, scratch, [](float a, float b) { return a + b; });
#pragma unroll
    for (int i = 0; i < V; ++i) sums[thread * V + i] = sum[i];
    __syncthreads();
    if (lane != 0 || d >= args.dim) continue;
    for (std::int32_t other = 1; other < shape.lanes; ++other)
#pragma unroll
      for (int i = 0; i < V; ++i) sum[i] += sums[(other * shape.runs + run) * V + i];
#pragma unroll
    for (int i = 0; i < V; ++i) sum[i] = __fdiv_rn(sum[i], total);
    device::store_floats<V>(args.out, args.out_dtype, at * args.dim + d, sum);
  }
  if (thread == 0) args.lse[at] = max + logf(total);
}

/// A slot's row and head, and how many splits are to be merged; -1 for a row of which a split is missing or counted
/// twice.
struct Target {
  std::int64_t from = 0, at = 0;
  std::int64_t needed = 0;
  bool served = false;
};

__device__ Target target_of(const MergePartialsArgs& args, std::int64_t from) {
  Target target;
  const auto slot = static_cast<std::int32_t>(from / args.heads), head = static_cast<std::int32_t>(from % args.heads);
  const std::int32_t row = args.every_row ? slot : args.slot_rows[slot];
  target.served = row >= 0;
  target.from = from;
  target.at = std::int64_t{row} * args.heads + head;
  target.needed = (std::int64_t{args.lengths[slot]} + args.partition_tokens - 1) / args.partition_tokens;
  if (target.served && (args.counters[from] != target.needed || target.needed > args.partitions)) target.needed = -1;
  return target;
}

template <int V>
__global__ void __launch_bounds__(kMaxThreads) merge_partials_kernel(const MergePartialsArgs args, const Shape shape) {
  device::wait_for_previous();
  const Target target = target_of(args, blockIdx.x);
  if (!target.served) return;
  if (target.needed < 0) {
    const float nan = __uint_as_float(kQuietNan);
    store_row<V>(args, target.at, nan, nan);
  } else if (target.needed == 0) {
    store_row<V>(args, target.at, 0.0f, kNegativeInf);
  } else {
    merge_head<V>(args, shape, target.from, target.at, static_cast<std::int32_t>(target.needed));
  }
}

/// A warp a head, for at most 32 splits: a lane holds a split's weight, and no warp waits for another.
template <int V>
__global__ void __launch_bounds__(kFewThreads) merge_few_kernel(const MergePartialsArgs args) {
  device::wait_for_previous();
  const std::int64_t from = std::int64_t{blockIdx.x} * (kFewThreads / 32) + threadIdx.x / 32;
  if (from >= std::int64_t{args.slots} * args.heads) return;
  const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
  const std::int64_t first = from * args.partitions;
  // Every LSE is written, so none need wait for how many count.
  const float stored = lane < args.partitions ? args.partial_lse[first + lane] : kNegativeInf;
  const Target target = target_of(args, from);
  if (!target.served) return;
  const auto splits = static_cast<std::int32_t>(target.needed);
  const float own = lane < splits ? stored : kNegativeInf;
  float max = own;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) max = fmaxf(max, __shfl_xor_sync(~0u, max, step));
  const float weight = lane < splits ? expf(own - (max == kNegativeInf ? 0.0f : max)) : 0.0f;
  float total = weight;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(~0u, total, step);
  // An empty row is 0; one that can't be trusted is NaN. Of neither is any partial loaded.
  const float without = splits < 0 ? __uint_as_float(kQuietNan) : 0.0f;
  for (std::int32_t d0 = 0; d0 < args.dim; d0 += 32 * V) {
    const std::int32_t d = d0 + lane * V;
    float sum[V] = {};
#pragma unroll 4
    for (std::int32_t p = 0; p < splits; ++p) {
      const float w = __shfl_sync(~0u, weight, p);
      if (d >= args.dim) continue;
      float partial[V];
      device::load_floats<V>(args.partials, args.partial_dtype, (first + p) * args.dim + d, partial);
#pragma unroll
      for (int i = 0; i < V; ++i) sum[i] += w * partial[i];
    }
    if (d >= args.dim) continue;
#pragma unroll
    for (int i = 0; i < V; ++i) sum[i] = splits <= 0 ? without : __fdiv_rn(sum[i], total);
    device::store_floats<V>(args.out, args.out_dtype, target.at * args.dim + d, sum);
  }
  if (lane == 0)
    args.lse[target.at] = splits < 0 ? __uint_as_float(kQuietNan) : splits == 0 ? kNegativeInf : max + logf(total);
}

template <int V>
void launch(const MergePartialsArgs& args, KernelPlace place) {
  if (args.partitions <= 32) {
    const std::int64_t heads = std::int64_t{args.slots} * args.heads, at_once = kFewThreads / 32;
    const auto blocks = static_cast<unsigned>((heads + at_once - 1) / at_once);
    launch_kernel(merge_few_kernel<V>, blocks, kFewThreads, 0, place, args);
    return;
  }
  Shape shape;
  shape.runs = args.dim / V < kMaxThreads ? args.dim / V : kMaxThreads;
  const std::int32_t room = kMaxThreads / shape.runs;
  shape.lanes = args.partitions < room ? args.partitions : room;
  const std::int32_t threads = (shape.lanes * shape.runs + 31) / 32 * 32;
  const auto grid = static_cast<unsigned>(std::int64_t{args.slots} * args.heads);
  launch_kernel(merge_partials_kernel<V>, grid, static_cast<unsigned>(threads), 0, place, args, shape);
}

void launch_at(const MergePartialsArgs& args, KernelPlace place) {
  assert(args.slots > 0 && args.heads > 0 && args.partitions > 0 && args.partition_tokens > 0 && args.dim > 0);
  assert(args.slots <= args.bucket && (!args.every_row || args.slots == args.bucket));
  assert(args.partial_dtype == Dtype::fp32 || args.partial_dtype == Dtype::fp16);
  assert(std::int64_t{args.slots} * args.heads <= INT32_MAX);
  const auto at = reinterpret_cast<std::uintptr_t>(args.partials) | reinterpret_cast<std::uintptr_t>(args.out);
  const bool aligned = args.dim % 4 == 0 && at % 16 == 0;
  aligned ? launch<4>(args, place) : launch<1>(args, place);
}

}  // namespace

void merge_partials_launch(const MergePartialsArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void merge_partials_launch_early(const MergePartialsArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
