// The end of grouped_attention: sums and row stats go to shared memory, the blocks
// that share a group (a cluster) meet, and each writes its share of the rows from
// all of them. With one block a group it is only a way to coalesced stores.
#pragma once

#include <cstdint>

#include "kernels/device/grouped_formats.cuh"
#include "kernels/device/grouped_softmax.cuh"

namespace refrain::grouped {

__device__ inline std::uint32_t quad_or(std::uint32_t value) {
  value |= __shfl_xor_sync(~0u, value, 1);
  return value | __shfl_xor_sync(~0u, value, 2);
}

/// The sums lie over the stages: every thread must be done with those.
template <class Format>
__device__ void publish_rows(const RowState<kWarpTiles>& state, float* sums, RowStats* stats, const Place& place) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int at = kMRows * place.m_tile + place.g + 8 * row;
    const std::uint32_t attending = quad_or(state.attending >> (8 * row) & 0xFFu);
    if (place.half == 0 && place.t == 0) stats[at] = {state.max[row], state.sum[2 * row], attending};
    if constexpr (Format::kElementBytes == 1) {
#pragma unroll
      for (int e = 0; e < 2; ++e)
#pragma unroll
        for (int i = 0; i < kDim / 16; i += 4)
          *reinterpret_cast<float4*>(sums + Layout<Format>::sum_index(at, Format::dim_of(place, i, e))) = {
              state.sums[i][2 * row + e], state.sums[i + 1][2 * row + e], state.sums[i + 2][2 * row + e],
              state.sums[i + 3][2 * row + e]};
    } else {
#pragma unroll
      for (int i = 0; i < kDim / 16; ++i)
        *reinterpret_cast<float2*>(sums + Layout<Format>::sum_index(at, Format::dim_of(place, i, 0))) = {
            state.sums[i][2 * row], state.sums[i][2 * row + 1]};
    }
  }
}

/// The same array in the shared memory of the cluster's block `rank`.
template <class T>
__device__ const T* of_block(T* shared, const Work& work, int rank) {
#if __CUDA_ARCH__ >= 900
  if (work.splits > 1) return static_cast<const T*>(__cluster_map_shared_rank(shared, static_cast<unsigned>(rank)));
#endif
  return shared;
}

/// All blocks of the group, or only this one when it is alone.
__device__ inline void group_barrier(const Work& work) {
#if __CUDA_ARCH__ >= 900
  if (work.splits > 1) {
    __cluster_barrier_arrive();  // releases what this block wrote
    return __cluster_barrier_wait();
  }
#endif
  __syncthreads();
}

template <bool kBf16>
__device__ void store4(void* out, std::int64_t first, const float (&v)[4]) {
  *reinterpret_cast<uint2*>(static_cast<std::uint16_t*>(out) + first) = {device::pack_rounded<kBf16>(v[0], v[1]),
                                                                         device::pack_rounded<kBf16>(v[2], v[3])};
}

/// In an order of its own, the same at every replay.
__device__ inline float warp_sum(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

__device__ inline float warp_max(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
  return value;
}

/// Half a row by one warp, 4 dims a lane. Lane p weighs part p, and the sums of eight parts are asked for at once:
/// those of other blocks are far. A row that attended nothing has the factor 0: with the protection off, a NaN that
/// leaked into it stays to be seen.
template <class L>
__device__ void write_half_row(const GroupedAttentionArgs& args, const Work& work, int row, int half, float* sums,
                               RowStats* stats, int lane) {
  constexpr int kAtOnce = 8;
  const std::int64_t at = std::int64_t{work.group} * kRows + row;
  if (at >= std::int64_t{args.bucket} * kGroupedHeads) return;
  const int parts = work.splits * L::kParts, dim = kDim / 2 * half + 4 * lane;
  RowStats own = {kNegativeInf, 0.0f, 0};
  if (lane < parts) own = of_block(stats, work, lane / L::kParts)[lane % L::kParts * kRows + row];
  const float max = warp_max(own.max);
  const float weight = exp2_approximate(own.max - (max == kNegativeInf ? 0.0f : max));
  const float sum = warp_sum(weight * own.sum);
  const bool attending = __any_sync(~0u, own.attending != 0);
  float out[4] = {};
#pragma unroll 1
  for (int first = 0; first < parts; first += kAtOnce) {
    float4 four[kAtOnce] = {};
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int part = first + i;
      if (part < parts)
        four[i] = *reinterpret_cast<const float4*>(of_block(sums, work, part / L::kParts) +
                                                   part % L::kParts * (kRows * kDim) + L::sum_index(row, dim));
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float w = __shfl_sync(~0u, weight, first + i);  // 0 where there is no such part
      out[0] += w * four[i].x, out[1] += w * four[i].y, out[2] += w * four[i].z, out[3] += w * four[i].w;
    }
  }
  const float factor = attending ? __fdiv_rn(*args.v_scale, sum) : 0.0f;
  // + 0 turns -0 into +0, so that the sign of an unattended V element can't show in a zero.
#pragma unroll
  for (float& value : out) value = value * factor + 0.0f;
  store4<L::Element::kIsBf16>(args.out, at * kDim + dim, out);
  if (lane == 0 && half == 0) args.lse[at] = attending ? (max + log2f(sum)) * 0.693147180559945309f : kNegativeInf;
}

/// This block's share of a group without tokens, by its first L::kEndWarps warps.
template <class L>
__device__ void write_empty_rows(const GroupedAttentionArgs& args, const Work& work) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int share = kRows / work.splits;
  if (warp >= L::kEndWarps) return;
  for (int row = work.rank * share + warp; row < (work.rank + 1) * share; row += L::kEndWarps) {
    const std::int64_t at = std::int64_t{work.group} * kRows + row;
    if (at >= std::int64_t{args.bucket} * kGroupedHeads) return;
    static_cast<uint4*>(args.out)[at * (kDim / 8) + lane] = {};
    if (lane == 0) args.lse[at] = kNegativeInf;
  }
}

/// This block's share of the rows, by its first L::kEndWarps warps, after a group_barrier behind the sums of every
/// block. Another has to follow: a block's shared memory lives until the others have read it.
template <class L>
__device__ void write_rows(const GroupedAttentionArgs& args, const Work& work, float* sums, RowStats* stats) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int halves = 2 * kRows / work.splits;
  for (int half = work.rank * halves + warp; half < (work.rank + 1) * halves; half += L::kEndWarps)
    write_half_row<L>(args, work, half / 2, half % 2, sums, stats, lane);
}

}  // namespace refrain::grouped
