// One block a (row, head), a thread four dims. Every warp reads the LSEs of the
// head's splits, a lane a split, turns them into weights, and then adds the splits
// in their order; a partial of an empty split is not loaded.
#include <cassert>
#include <cstdint>

#include "kernels/device/vector.cuh"
#include "kernels/launchers.hpp"
#include "kernels/merge_mla.hpp"
#include "kernels/mla_pool_view.hpp"

namespace refrain {
namespace {

constexpr int kVector = 4, kThreads = kMlaValueDim / kVector;
constexpr float kNegativeInf = -__builtin_huge_valf();

struct Merged {
  float sum[kVector] = {};
  float weights = 0, lse_max = kNegativeInf, max_logit = kNegativeInf;
};

__device__ float largest_of_warp(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}

/// Splits [first, first + 32) of the head, whose LSEs the lanes hold.
__device__ void add_splits(const MergeMlaArgs& args, std::int64_t at, std::int32_t first, float lse, float base,
                           Merged& merged) {
  const float weight = expf(lse - base);
  const float* partials = args.partials + (at * args.splits + first) * kMlaValueDim + threadIdx.x * kVector;
  const std::int32_t count = min(32, args.splits - first);
#pragma unroll 16
  for (std::int32_t s = 0; s < count; ++s) {
    const float of_split = __shfl_sync(~0u, weight, s);
    if (__shfl_sync(~0u, lse, s) == kNegativeInf && !args.empty_by_value) continue;
    const float4 partial = *reinterpret_cast<const float4*>(partials + std::int64_t{s} * kMlaValueDim);
    merged.weights += of_split;
    merged.sum[0] += of_split * partial.x;
    merged.sum[1] += of_split * partial.y;
    merged.sum[2] += of_split * partial.z;
    merged.sum[3] += of_split * partial.w;
  }
}

__device__ Merged merge_head(const MergeMlaArgs& args, std::int64_t at, bool real) {
  const std::int32_t lane = static_cast<std::int32_t>(threadIdx.x) % 32;
  const float sink = args.sinks == nullptr ? kNegativeInf : args.sinks[at % args.heads];
  const auto of_lane = [&](const float* values, std::int32_t first) {
    return first + lane < args.splits ? values[at * args.splits + first + lane] : kNegativeInf;
  };
  const float first_lse = of_lane(args.partial_lse, 0);
  Merged merged;
  if (!real) return merged;
  merged.lse_max = first_lse;
  for (std::int32_t first = 32; first < args.splits; first += 32)
    merged.lse_max = fmaxf(merged.lse_max, of_lane(args.partial_lse, first));
  merged.lse_max = fmaxf(largest_of_warp(merged.lse_max), sink);
  if (args.max_logits != nullptr) {
    for (std::int32_t first = 0; first < args.splits; first += 32)
      merged.max_logit = fmaxf(merged.max_logit, of_lane(args.partial_max, first));
    merged.max_logit = largest_of_warp(merged.max_logit);
  }
  const float base = merged.lse_max == kNegativeInf ? 0.0f : merged.lse_max;
  add_splits(args, at, 0, first_lse, base, merged);
  for (std::int32_t first = 32; first < args.splits; first += 32)
    add_splits(args, at, first, of_lane(args.partial_lse, first), base, merged);
  if (args.sinks != nullptr) merged.weights += expf(sink - base);
  return merged;
}

__global__ void __launch_bounds__(kThreads) merge_mla_kernel(const MergeMlaArgs args) {
  const std::int64_t at = blockIdx.x;
  const auto row = static_cast<std::int32_t>(at / args.heads);
  Merged merged = merge_head(args, at, args.real_rows == nullptr || row < *args.real_rows);
  // Nothing weighs anything: zeros stay zeros, and what a fault made NaN stays NaN.
  const float factor = merged.weights == 0.0f ? 0.0f : __fdiv_rn(1.0f, merged.weights);
#pragma unroll
  for (float& value : merged.sum) value *= factor;
  device::store_floats<kVector>(args.out, Dtype::bf16, at * kMlaValueDim + threadIdx.x * kVector, merged.sum);
  if (threadIdx.x != 0) return;
  args.lse[at] = merged.lse_max + logf(merged.weights);
  if (args.max_logits != nullptr) args.max_logits[at] = merged.max_logit;
}

}  // namespace

void merge_mla_launch(const MergeMlaArgs& args, void* stream) {
  assert(args.rows > 0 && args.heads > 0 && args.splits > 0);
  assert(args.max_logits == nullptr || args.partial_max != nullptr);
  assert(std::int64_t{args.rows} * args.heads <= INT32_MAX);
  assert((reinterpret_cast<std::uintptr_t>(args.partials) | reinterpret_cast<std::uintptr_t>(args.out)) % 16 == 0);
  const auto blocks = static_cast<unsigned>(std::int64_t{args.rows} * args.heads);
  merge_mla_kernel<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(args);
}

}  // namespace refrain
