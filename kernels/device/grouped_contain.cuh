// The rare path of grouped_attention, for a group whose results came out non-finite:
// on a second way over the tiles, V elements that are no finite number are set to 0
// where they lie in shared memory, and at the end p * v is added for the queries that
// attend the row. Speed does not matter here; a query that does not attend must come
// out as if the element were finite, to the bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/grouped_formats.cuh"
#include "kernels/device/grouped_softmax.cuh"

namespace refrain::grouped {

/// Zeroes the tile's non-finite V elements and notes their rows in `hurt_rows`. A block barrier has to follow.
template <class Format>
__device__ void contain_tile(std::byte* v_plane, std::uint32_t* hurt_rows) {
  auto* words = reinterpret_cast<std::uint32_t*>(v_plane);
#pragma unroll 1
  for (int at = static_cast<int>(threadIdx.x); at < Layout<Format>::kPlaneBytes / 4; at += kThreads) {
    const std::uint32_t bad = Format::non_finite(words[at]);
    if (bad == 0) continue;
    words[at] &= ~bad;
    atomicOr(hurt_rows, 1u << (at * 4 / Format::kRowBytes));
  }
}

/// The rounded p of one row and token, in every lane; `max` as in RowStats.
template <class Format>
__device__ float weight_of(const std::uint16_t* q, const std::byte* k, float scale, float max, int lane) {
  float a[8], b[8], dot = 0;
  Wide<Format::kIsBf16>::decode8(reinterpret_cast<const std::byte*>(q + 8 * lane), a);
  Format::decode8(k + 8 * lane * Format::kElementBytes, b);
#pragma unroll
  for (int i = 0; i < 8; ++i) dot += a[i] * b[i];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) dot += __shfl_xor_sync(~0u, dot, offset);
  const float p = exp2_approximate(dot * scale - (max == kNegativeInf ? 0.0f : max));
  return device::unpack<Format::kIsBf16>(device::pack_rounded<Format::kIsBf16>(p, 0.0f)).x;
}

/// Adds p * v of one token's non-finite elements to the warp's rows that attend it.
template <class L>
__device__ void add_token(const GroupedAttentionArgs& args, const Work& work, float scale, std::int64_t plan, int token,
                          float* sums, const RowStats* stats) {
  using Format = typename L::Element;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::uint32_t mask = args.masks[plan + token / 4] >> token % 4;
  const std::byte* k = args.pool.data + std::int64_t{args.microblocks[plan + token / 4]} * 4 * Format::kRowBytes +
                       token % 4 * Format::kRowBytes;
  float v[8];
  Format::decode8(k + (args.pool.plane_elements() + 8 * lane) * Format::kElementBytes, v);
#pragma unroll 1
  for (int row = kRows / L::kSumWarps * warp; row < kRows / L::kSumWarps * (warp + 1); ++row) {
    if ((mask >> 4 * (row / kGroupedHeads) & 1u) == 0) continue;
    const auto* q = static_cast<const std::uint16_t*>(args.q) + (std::int64_t{work.group} * kRows + row) * kDim;
    const float p = weight_of<Format>(q, k, scale, stats[row].max, lane);
#pragma unroll
    for (int i = 0; i < 8; ++i)
      if (!isfinite(v[i])) sums[L::sum_index(row, 8 * lane + i)] += p * v[i];
  }
}

/// After the sums and stats of all rows are in shared memory, by the first L::kSumWarps warps. A warp keeps to its own
/// rows and goes over the tokens in order, so the sums are the same on every replay.
template <class L>
__device__ __noinline__ void add_contained(const GroupedAttentionArgs& args, const Work work, float scale, float* sums,
                                           const RowStats* stats, const std::uint32_t* hurt_rows) {
  for (std::int32_t n = 0; n < work.local; ++n)
    for (std::uint32_t rows = hurt_rows[n]; rows != 0; rows &= rows - 1)
      add_token<L>(args, work, scale, work.entries_of(n), __ffs(static_cast<int>(rows)) - 1, sums, stats);
}

}  // namespace refrain::grouped
