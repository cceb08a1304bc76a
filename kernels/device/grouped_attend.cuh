// A warpgroup that attends, in grouped_attention: scores of 64 rows (48 are somebody's)
// against a tile, the online softmax of a warp's own 16 rows in its registers, sums
// over all 256 dims. The tensor cores read the tiles and the queries from shared memory,
// once for all M tiles; where registers allow (kHeldSteps), the first of the queries'
// dims stay in them. An M tile without an attending query multiplies zeros, which is
// right because no non-finite V gets into a stage, or the sweep is done again; for the
// fault that has no such protection such an M tile keeps its sums.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/grouped_merge.cuh"
#include "kernels/device/grouped_softmax.cuh"
#include "kernels/device/grouped_wgmma_shape.cuh"
#include "kernels/grouped_attention_kernels.hpp"

namespace refrain::grouped {

using WarpgroupState = RowState<kDim / 8>;

/// The fourth warp has none.
__device__ inline bool has_rows(const Place& place) {
  return place.m_tile < kMTiles;
}

/// What a thread holds of the queries: A fragments of the first steps, and where all of them lie.
template <class L>
struct HeldQueries {
  std::uint32_t shared;
  std::uint32_t steps[L::kHeldSteps + 1][4];  ///< one more, for there is no array of none

  __device__ HeldQueries(std::uint32_t shared_queries, const Place& place) : shared(shared_queries) {
    // Matrices of eight rows: the lower rows, the upper ones, then both with the step's last eight dims. The fourth
    // warp reads the third one's rows; nobody asks for its products.
    const int row = kMRows * min(place.m_tile, kMTiles - 1) + place.lane % 16;
#pragma unroll
    for (int step = 0; step < L::kHeldSteps; ++step)
      device::load_matrices(steps[step], shared + device::panel_chunk(kRows, row, 2 * step + place.lane / 16));
  }
};

/// Begins the scores of a tile; s is not to be touched until they are waited for.
template <class L>
__device__ void begin_scores(const HeldQueries<L>& queries, std::uint32_t keys, float (&s)[4][4]) {
  constexpr int kQueryPanel = kRows * device::kPanelRowBytes, kKeyPanel = kTokens * device::kPanelRowBytes;
  const std::uint64_t a = device::operand(queries.shared, 0), b = device::operand(keys, 0);
  device::hold(s);
  device::begin_products();
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    // Four steps of 16 elements, 32 bytes, to a panel; a descriptor counts 16 bytes.
    const int panel = step / 4, within = step % 4 * 2;
    const std::uint64_t from = b + static_cast<std::uint64_t>(panel * (kKeyPanel / 16) + within);
    if (step < L::kHeldSteps)
      device::product_64x32<L::Element::kIsBf16>(s, queries.steps[step], from, step > 0);
    else
      device::product_64x32<L::Element::kIsBf16>(s, a + static_cast<std::uint64_t>(panel * (kQueryPanel / 16) + within),
                                                 from, step > 0);
  }
  device::commit_products();
}

/// Begins sums += P @ V; the sums are not to be touched until that is waited for.
template <class L>
__device__ void begin_sums(const std::uint32_t (&p)[2][4], std::uint32_t values, WarpgroupState& state) {
  constexpr int kPanel = kTokens * device::kPanelRowBytes;
  constexpr bool kBf16 = L::Element::kIsBf16;
  const std::uint64_t v = device::operand(values, kPanel);
  device::hold(state.sums);
  device::begin_products();
#pragma unroll
  for (int step = 0; step < kTokens / 16; ++step) {
    // 16 tokens are 16 rows of every panel; 128 dims are two panels.
    const std::uint64_t from = v + static_cast<std::uint64_t>(step * (16 * device::kPanelRowBytes / 16));
    device::product_64x128<kBf16, 0>(state.sums, p[step], from);
    device::product_64x128<kBf16, 16>(state.sums, p[step], from + 2 * kPanel / 16);
  }
  device::commit_products();
}

__device__ inline void copy_sums(const float (&from)[kDim / 8][4], float (&to)[kDim / 8][4]) {
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) to[i][e] = from[i][e];
}

/// By a warp at once: every lane arrives, in one instruction.
template <class L>
__device__ void give_back(const Stages<L>& stages, std::int32_t tile, Plane plane) {
  __syncwarp();
  device::arrive(stages.free(tile, plane));
}

/// One tile, whose scores are done; with kMore those of the attender's next tile too, behind it: they are begun ahead
/// of the softmax where registers hold both, or else while the tensor cores sum. Registers of products under way must
/// not be touched, also not by a copy that a branch makes necessary.
template <class L, GroupedGuard kGuard, bool kMore>
__device__ void attend_tile(std::byte* shared, const Stages<L>& stages, std::int32_t tile, float scale,
                            const HeldQueries<L>& queries, const Place& place, float (&scores)[4][4],
                            WarpgroupState& state) {
  const auto begin_next = [&] {
    stages.wait_full(tile + kAttenders, kKeys);
    begin_scores<L>(queries, stages.plane(tile + kAttenders, kKeys), scores);
  };
  float s[4][4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) s[i][e] = scores[i][e] * scale;
  std::uint32_t p[2][4] = {}, attended = 0;
  const std::uint32_t any = read_masks(masks_of<L>(shared, tile), place, attended);
  if constexpr (kMore && L::kEarlyScores) begin_next();
  const bool active = has_rows(place) && m_tile_active(any, place.m_tile);
  if (active) {
    float factor[2];
    softmax_tile<L::Element::kIsBf16>(s, attended, state, p, factor);
    carry_on<L::Element::kIsBf16>(state, factor, p);
  }
  float kept[kDim / 8][4];
  if (kGuard == GroupedGuard::off && !active) copy_sums(state.sums, kept);
  stages.wait_full(tile, kValues);
  begin_sums<L>(p, stages.plane(tile, kValues), state);
  if constexpr (kMore && !L::kEarlyScores) begin_next();
  device::wait_for_products<0>();
  if constexpr (kMore) device::hold(scores);
  device::hold(state.sums);
  if (kGuard == GroupedGuard::off && !active) copy_sums(kept, state.sums);
  give_back(stages, tile, kValues);
  if constexpr (kMore) give_back(stages, tile + kAttenders, kKeys);
}

/// Every second tile of the block from `first` on; `base` tiles went before.
template <class L, GroupedGuard kGuard>
__device__ void attend(const Work& work, std::byte* shared, const Stages<L>& stages, std::int32_t base, int first,
                       float scale, const HeldQueries<L>& queries, const Place& place, WarpgroupState& state) {
  if (first >= work.local) return;
  float scores[4][4];
  stages.wait_full(base + first, kKeys);
  begin_scores<L>(queries, stages.plane(base + first, kKeys), scores);
  device::wait_for_products<0>();
  device::hold(scores);
  give_back(stages, base + first, kKeys);
  std::int32_t n = first;
#pragma unroll 1
  for (; n + kAttenders < work.local; n += kAttenders)
    attend_tile<L, kGuard, true>(shared, stages, base + n, scale, queries, place, scores, state);
  attend_tile<L, kGuard, false>(shared, stages, base + n, scale, queries, place, scores, state);
}

/// Where a thread's sums of one of the warp's rows lie, of the 16 in a half of the dims.
template <class L>
[[nodiscard]] __device__ std::uint32_t sum_place(const float* sums, int row, int i, const Place& place) {
  return device::shared_address(sums) + 4 * static_cast<std::uint32_t>(L::sum_index(row, 8 * i + 2 * place.t));
}

inline constexpr int kHalfTiles = kDim / 16;  ///< column tiles of half the dims

/// What both attenders summed is put together in the block's sums and stats: each gives away the dims that are the
/// other's, they meet, and each adds its own to what it was given. kOwn is 0 or 1, this one's half.
template <class L, int kOwn>
__device__ void give_away(const WarpgroupState& state, float* sums, RowStats* stats, const Place& place) {
  constexpr int kFirst = kHalfTiles * (1 - kOwn);
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int at = kMRows * place.m_tile + place.g + 8 * row;
    const std::uint32_t attending = quad_or(state.attending >> (8 * row) & 0xFFu);
    if (!has_rows(place)) continue;
    if (place.t == 0) stats[kRows * (1 + kOwn) + at] = {state.max[row], state.sum[2 * row], attending};
#pragma unroll
    for (int i = kFirst; i < kFirst + kHalfTiles; ++i)
      store_shared8(sum_place<L>(sums, at, i, place), {state.sums[i][2 * row], state.sums[i][2 * row + 1]});
  }
}

/// After the meeting.
template <class L, int kOwn>
__device__ void add_given(const WarpgroupState& state, float* sums, RowStats* stats, const Place& place) {
  constexpr int kFirst = kHalfTiles * kOwn;
  if (!has_rows(place)) return;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int at = kMRows * place.m_tile + place.g + 8 * row;
    const RowStats own = stats[kRows * (1 + kOwn) + at], other = stats[kRows * (2 - kOwn) + at];
    const float max = fmaxf(own.max, other.max), base = max == kNegativeInf ? 0.0f : max;
    const float w = exp2_approximate(own.max - base), w_other = exp2_approximate(other.max - base);
    if (kOwn == 0 && place.t == 0)
      stats[at] = {max, w * own.sum + w_other * other.sum, own.attending | other.attending};
    float2 theirs[kHalfTiles];
#pragma unroll
    for (int i = 0; i < kHalfTiles; ++i) theirs[i] = load_shared8(sum_place<L>(sums, at, kFirst + i, place));
#pragma unroll
    for (int i = 0; i < kHalfTiles; ++i) {
      const float* mine = state.sums[kFirst + i] + 2 * row;
      store_shared8(sum_place<L>(sums, at, kFirst + i, place),
                    {w * mine[0] + w_other * theirs[i].x, w * mine[1] + w_other * theirs[i].y});
    }
  }
}

}  // namespace refrain::grouped
