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
__device__ void store8(void* out, std::int64_t first, const float (&v)[8]) {
  const uint4 packed = {device::pack_rounded<kBf16>(v[0], v[1]), device::pack_rounded<kBf16>(v[2], v[3]),
                        device::pack_rounded<kBf16>(v[4], v[5]), device::pack_rounded<kBf16>(v[6], v[7])};
  *reinterpret_cast<uint4*>(static_cast<std::uint16_t*>(out) + first) = packed;
}

/// One row by one warp, 8 dims a lane. A row that attended nothing has the factor 0: with the protection off,
/// a NaN that leaked into it stays to be seen.
template <class L>
__device__ void write_row(const GroupedAttentionArgs& args, const Work& work, int row, float* sums, RowStats* stats,
                          int lane) {
  const std::int64_t at = std::int64_t{work.group} * kRows + row;
  if (at >= std::int64_t{args.bucket} * kGroupedHeads) return;
  const int parts = work.splits * L::kParts;
  const auto stats_of = [&](int part) {
    return of_block(stats, work, part / L::kParts)[part % L::kParts * kRows + row];
  };
  float max = kNegativeInf;
  for (int part = 0; part < parts; ++part) max = fmaxf(max, stats_of(part).max);
  const float base = max == kNegativeInf ? 0.0f : max;
  float sum = 0, out[8] = {};
  bool attending = false;
#pragma unroll 2
  for (int part = 0; part < parts; ++part) {
    const RowStats own = stats_of(part);
    const float* from = of_block(sums, work, part / L::kParts) + part % L::kParts * (kRows * kDim);
    const float weight = exp2_approximate(own.max - base);
    attending = attending || own.attending != 0;
    sum += weight * own.sum;
#pragma unroll
    for (int i = 0; i < 8; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + L::sum_index(row, 8 * lane + i));
      out[i] += weight * four.x, out[i + 1] += weight * four.y, out[i + 2] += weight * four.z,
          out[i + 3] += weight * four.w;
    }
  }
  const float factor = attending ? __fdiv_rn(*args.v_scale, sum) : 0.0f;
  // + 0 turns -0 into +0, so that the sign of an unattended V element can't show in a zero.
#pragma unroll
  for (float& value : out) value = value * factor + 0.0f;
  store8<L::Element::kIsBf16>(args.out, at * kDim + 8 * lane, out);
  if (lane == 0) args.lse[at] = attending ? (max + log2f(sum)) * 0.693147180559945309f : kNegativeInf;
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
    store8<L::Element::kIsBf16>(args.out, at * kDim + 8 * lane, {});
    if (lane == 0) args.lse[at] = kNegativeInf;
  }
}

/// This block's share of the rows, by its first L::kEndWarps warps, after a group_barrier behind the sums of every
/// block. Another has to follow: a block's shared memory lives until the others have read it.
template <class L>
__device__ void write_rows(const GroupedAttentionArgs& args, const Work& work, float* sums, RowStats* stats) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int share = kRows / work.splits;
  for (int row = work.rank * share + warp; row < (work.rank + 1) * share; row += L::kEndWarps)
    write_row<L>(args, work, row, sums, stats, lane);
}

}  // namespace refrain::grouped
