// The geometry of grouped_attention: a block of six warps, two for each 16-row M
// tile. In the scores a pair's warps split the 32 tokens of a K/V tile, in P@V the
// 256 dims of V, and each holds the running softmax of all 16 rows. Shared memory
// is laid out here and nowhere else.
#pragma once

#include <cstdint>

#include "kernels/grouped_attention.hpp"

namespace refrain::grouped {

inline constexpr int kDim = 256;
inline constexpr int kTokens = kTileMicroblocks * kMicroblockTokens;
inline constexpr int kWarps = 6, kThreads = 32 * kWarps;
inline constexpr int kMRows = 16;
inline constexpr int kRows = kGroupRows * kGroupedHeads;
inline constexpr int kMTiles = kRows / kMRows;
inline constexpr int kMaxTiles = kGroupedWidth / kTileMicroblocks;
static_assert(kWarps == 2 * kMTiles && kTokens == 32);

/// Plan entries of 16 tiles: 8 microblock ids and 8 masks each.
inline constexpr int kRingTiles = 16, kRingWords = 2 * kTileMicroblocks, kRingAhead = 8;
inline constexpr int kExchangeBytes = 1024;  ///< a warp's scores: 16 rows x 16 tokens, fp32
inline constexpr int kSumsBytes = kRows * kDim * 4;

/// What a row's sums need beside them when blocks are put together.
struct RowStats {
  float max;  ///< of score * log2(e)
  float sum;  ///< of the rounded p
  std::uint32_t attending;
};

/// Of the kernel of warp-wide instructions. What the end of it, and of the kernel of warpgroups, has to know about a
/// block: its warps, those that add what was contained, and how the sums lie.
template <class Format>
struct Layout {
  using Element = Format;
  static constexpr int kSumWarps = kWarps, kBlockWarps = kWarps;
  static constexpr int kPlaneBytes = kTokens * Format::kRowBytes;
  static constexpr int kStageBytes = 2 * kPlaneBytes;  ///< K, V
  static constexpr int kExchange = Format::kStages * kStageBytes;
  static constexpr int kRing = kExchange + kWarps * kExchangeBytes;
  static constexpr int kStats = kRing + kRingTiles * kRingWords * 4;
  static constexpr int kHurt = kStats + kRows * static_cast<int>(sizeof(RowStats));  ///< a word a tile: its hurt rows
  static constexpr int kAgain = kHurt + 4 * kMaxTiles;  ///< 1 when a result of the group came out hurt
  static constexpr int kParked = kAgain + 16;
  static constexpr int kBytes = kParked + 16 * kThreads * Format::kParkedSteps;
  static_assert(kParked % 16 == 0 && 2 * (kBytes + 1024) <= 228 * 1024);  // two blocks a multiprocessor
  static_assert(kExchange >= kSumsBytes);  // the sums lie over the stages once those are done with

  /// Float index of (row, dim) among the sums in shared memory; 16-byte chunks permuted against bank conflicts.
  __device__ static int sum_index(int row, int dim) {
    const int chunk = dim / 4;
    const int moved = Format::kElementBytes == 1 ? (chunk >> 3 & 3) << 1 | (row & 1) : (row & 3) << 1;
    return kDim * row + 4 * (chunk ^ moved) + dim % 4;
  }
};

/// Which tiles of which group this block works on: local tile n is the group's tile n * splits + rank.
struct Work {
  std::int32_t group, rank, splits;
  std::int32_t tiles = 0;  ///< of the whole group
  std::int32_t local = 0;  ///< of this block

  /// From the block's place in a grid of splits blocks a group. The last groups come first: later rows of a prompt see
  /// more, so the longest groups don't begin when the others end.
  __device__ Work(const GroupedAttentionArgs& args, std::int32_t splits_of_group)
      : group(args.groups - 1 - static_cast<std::int32_t>(blockIdx.x) / splits_of_group),
        rank(static_cast<std::int32_t>(blockIdx.x) % splits_of_group),
        splits(splits_of_group) {}

  __device__ void count_tiles(const GroupedAttentionArgs& args) {
    tiles = max(0, min(args.tokens[group] / kTokens, kMaxTiles));
    local = (tiles - rank + splits - 1) / splits;
  }

  /// Where the plan's entries of local tile n begin.
  [[nodiscard]] __device__ std::int64_t entries_of(std::int32_t n) const {
    return std::int64_t{group} * kGroupedWidth + (n * splits + rank) * kTileMicroblocks;
  }
};

/// Where a thread stands: its warp has M tile `m_tile`, and of a pair of such warps the half `half`.
struct Place {
  int warp, lane, g, t;
  int m_tile, half;
  int low_query, high_query;  ///< of rows g and g + 8 of the M tile; the last for rows that are nobody's

  __device__ Place(int m_tile_of_warp, int half_of_warp)
      : warp(static_cast<int>(threadIdx.x) / 32),
        lane(static_cast<int>(threadIdx.x) % 32),
        g(lane / 4),
        t(lane % 4),
        m_tile(m_tile_of_warp),
        half(half_of_warp),
        low_query(min((kMRows * m_tile + g) / kGroupedHeads, kGroupRows - 1)),
        high_query(min((kMRows * m_tile + g + 8) / kGroupedHeads, kGroupRows - 1)) {}
};

}  // namespace refrain::grouped
