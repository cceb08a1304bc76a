// The end of grouped_attention: sums and row stats go to shared memory, the blocks
// that share a group (a cluster) meet, and each writes its share of the rows from
// all of them. With one block a group it is only a way to coalesced stores. What is
// written is looked at on the way: NaN and Inf stay in a sum for good, since 0 * NaN
// and 0 * Inf are NaN, so non-finite V shows in a result, and then all of the group's
// blocks go over their tiles again (grouped_contain.cuh).
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
__device__ T* of_block(T* shared, const Work& work, int rank) {
#if __CUDA_ARCH__ >= 900
  if (work.splits > 1) return static_cast<T*>(__cluster_map_shared_rank(shared, static_cast<unsigned>(rank)));
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

/// Until all blocks of the group have read what they wanted of each other's shared memory; orders nothing else.
__device__ inline void group_parts() {
#if __CUDA_ARCH__ >= 900
  __cluster_barrier_arrive_relaxed();
  __cluster_barrier_wait();
#endif
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

/// One of kPieces pieces of a row by one warp. All that a lane needs of it is asked for at once, for the sums of other
/// blocks are far: eight float4, of up to 4, 8 or 16 parts. Lane p weighs part p. A row that attended nothing has the
/// factor 0: with the protection off, a NaN that leaked into it stays to be seen. Adds NaN to `poison` where a result
/// is NaN or Inf, else 0.
template <class L, int kPieces>
__device__ void write_piece(const GroupedAttentionArgs& args, const Work& work, int row, int piece, float* sums,
                            RowStats* stats, int lane, float& poison) {
  constexpr int kSpans = kPieces == 1 ? 2 : 1,
                kSides = kPieces == 4 ? 2 : 1;  // float4s of a part a lane; parts at once
  constexpr int kRounds = 8 / kSpans, kLanes = 32 / kSides;
  const std::int64_t at = std::int64_t{work.group} * kRows + row;
  if (at >= std::int64_t{args.bucket} * kGroupedHeads) return;
  const int parts = work.splits, side = lane / kLanes, dim = kDim / kPieces * piece + 4 * (lane % kLanes);
  float4 four[kRounds][kSpans];
#pragma unroll
  for (int i = 0; i < kRounds; ++i) {
    const int part = i * kSides + side;
#pragma unroll
    for (int span = 0; span < kSpans; ++span)
      four[i][span] =
          part < parts
              ? *reinterpret_cast<const float4*>(of_block(sums, work, part) + L::sum_index(row, dim + 128 * span))
              : float4{};
  }
  RowStats own = {kNegativeInf, 0.0f, 0};
  if (lane < parts) own = of_block(stats, work, lane)[row];
  const float max = warp_max(own.max);
  const float weight = exp2_approximate(own.max - (max == kNegativeInf ? 0.0f : max));
  const float sum = warp_sum(weight * own.sum);
  const bool attending = __any_sync(~0u, own.attending != 0);
  const float factor = attending ? __fdiv_rn(*args.v_scale, sum) : 0.0f;
  float out[kSpans][4] = {};
#pragma unroll
  for (int i = 0; i < kRounds; ++i) {
    const float w = __shfl_sync(~0u, weight, i * kSides + side);  // 0 where there is no such part
#pragma unroll
    for (int span = 0; span < kSpans; ++span) {
      const float4 v = four[i][span];
      out[span][0] += w * v.x, out[span][1] += w * v.y, out[span][2] += w * v.z, out[span][3] += w * v.w;
    }
  }
#pragma unroll
  for (int span = 0; span < kSpans; ++span) {
#pragma unroll
    for (float& value : out[span]) {
      if (kSides == 2) value += __shfl_xor_sync(~0u, value, kLanes);
      value = value * factor + 0.0f;  // -0 becomes +0: the sign of an unattended V element can't show in a zero
      poison += value * 0.0f;
    }
    if (side == 0) store4<L::Element::kIsBf16>(args.out, at * kDim + dim + 128 * span, out[span]);
  }
  if (lane == 0 && piece == 0) args.lse[at] = attending ? (max + log2f(sum)) * 0.693147180559945309f : kNegativeInf;
}

/// This block's share of a group without tokens, by all its warps.
template <class L>
__device__ void write_empty_rows(const GroupedAttentionArgs& args, const Work& work) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int share = kRows / work.splits;
  for (int row = work.rank * share + warp; row < (work.rank + 1) * share; row += L::kBlockWarps) {
    const std::int64_t at = std::int64_t{work.group} * kRows + row;
    if (at >= std::int64_t{args.bucket} * kGroupedHeads) return;
    static_cast<uint4*>(args.out)[at * (kDim / 8) + lane] = {};
    if (lane == 0) args.lse[at] = kNegativeInf;
  }
}

template <class L, int kPieces>
[[nodiscard]] __device__ bool write_pieces(const GroupedAttentionArgs& args, const Work& work, float* sums,
                                           RowStats* stats) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int pieces = kPieces * kRows / work.splits;
  float poison = 0;
  for (int i = work.rank * pieces + warp; i < (work.rank + 1) * pieces; i += L::kBlockWarps)
    write_piece<L, kPieces>(args, work, i / kPieces, i % kPieces, sums, stats, lane, poison);
  return poison != 0;  // true for NaN
}

/// This block's share of the rows, by all its warps, after a group_barrier behind the sums of every block. group_parts
/// or group_hurt has to follow: a block's shared memory lives until the others have read it. With few rows a block,
/// warps share one. True where something that this thread wrote is NaN or Inf.
template <class L>
[[nodiscard]] __device__ bool write_rows(const GroupedAttentionArgs& args, const Work& work, float* sums,
                                         RowStats* stats) {
  if (work.splits > 8) return write_pieces<L, 4>(args, work, sums, stats);
  if (work.splits > 4) return write_pieces<L, 2>(args, work, sums, stats);
  return write_pieces<L, 1>(args, work, sums, stats);
}

/// By all threads of the group, behind write_rows, in place of group_parts: whether any of them has `seen` a hurt
/// result. `again` is 0 before; `meet` is the block's own meeting, for a group of one block. Where nobody has, nothing
/// waits for the rows on their way to memory, as a barrier that orders would (1 % at 16 rows).
template <class Meet>
[[nodiscard]] __device__ bool group_hurt(const Work& work, std::uint32_t* again, bool seen, Meet meet) {
  if (__any_sync(~0u, seen)) {
    for (int rank = 0; rank < work.splits; ++rank) *of_block(again, work, rank) = 1;
    __threadfence();
  }
  work.splits > 1 ? group_parts() : meet();
  return *static_cast<volatile std::uint32_t*>(again) != 0;
}

}  // namespace refrain::grouped
