// A warpgroup that attends, in grouped_attention: scores of 64 rows (48 are somebody's)
// against a tile, the online softmax of a warp's own 16 rows in its registers, sums
// over all 256 dims. The tensor cores read the tiles and most of the queries from shared
// memory, once for all M tiles; the rest of the queries stays in registers. An M tile
// without an attending query multiplies zeros, which is right because no non-finite V
// gets into a stage, or the sweep is done again; for the fault that has no such
// protection such an M tile keeps its sums.
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
  std::uint32_t steps[L::kHeldSteps][4];

  __device__ HeldQueries(std::uint32_t shared_queries, const Place& place) : shared(shared_queries) {
    // Matrices of eight rows: the lower rows, the upper ones, then both with the step's last eight dims. The fourth
    // warp reads the third one's rows; nobody asks for its products.
    const int row = kMRows * min(place.m_tile, kMTiles - 1) + place.lane % 16;
#pragma unroll
    for (int step = 0; step < L::kHeldSteps; ++step)
      device::load_matrices(steps[step], shared + device::panel_chunk(kRows, row, 2 * step + place.lane / 16));
  }
};

template <class L>
__device__ void score_tile(const HeldQueries<L>& queries, std::uint32_t k_plane, float (&s)[4][4]) {
  constexpr int kQueryPanel = kRows * device::kPanelRowBytes, kKeyPanel = kTokens * device::kPanelRowBytes;
  const std::uint64_t a = device::operand(queries.shared, 0), b = device::operand(k_plane, 0);
  device::hold(s);
  device::begin_products();
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    // Four steps of 16 elements, 32 bytes, to a panel; a descriptor counts 16 bytes.
    const int panel = step / 4, within = step % 4 * 2;
    const std::uint64_t keys = b + static_cast<std::uint64_t>(panel * (kKeyPanel / 16) + within);
    if (step < L::kHeldSteps)
      device::product_64x32<L::Element::kIsBf16>(s, queries.steps[step], keys, step > 0);
    else
      device::product_64x32<L::Element::kIsBf16>(s, a + static_cast<std::uint64_t>(panel * (kQueryPanel / 16) + within),
                                                 keys, step > 0);
  }
  device::commit_products();
  device::wait_for_products<0>();
  device::hold(s);
}

template <class L>
__device__ void sum_tile(const std::uint32_t (&p)[2][4], std::uint32_t v_plane, WarpgroupState& state) {
  constexpr int kPanel = kTokens * device::kPanelRowBytes;
  constexpr bool kBf16 = L::Element::kIsBf16;
  const std::uint64_t v = device::operand(v_plane, kPanel);
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
  device::wait_for_products<0>();
  device::hold(state.sums);
}

__device__ inline void copy_sums(const float (&from)[kDim / 8][4], float (&to)[kDim / 8][4]) {
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i)
#pragma unroll
    for (int e = 0; e < 4; ++e) to[i][e] = from[i][e];
}

/// Every second tile of the block from `first` on; `base` tiles went before.
template <class L, GroupedGuard kGuard>
__device__ void attend(const Work& work, std::byte* shared, const Stages<L>& stages, std::int32_t base, int first,
                       float scale, const HeldQueries<L>& queries, const Place& place, WarpgroupState& state) {
#pragma unroll 1
  for (std::int32_t n = first; n < work.local; n += kAttenders) {
    const std::uint32_t stage = stages.stage(base + n);
    stages.wait_full(base + n);
    float s[4][4];
    score_tile<L>(queries, stage, s);
    std::uint32_t p[2][4] = {}, attended = 0;
    const std::uint32_t any = read_masks(masks_of<L>(shared, base + n), place, attended);
    const bool active = has_rows(place) && m_tile_active(any, place.m_tile);
    if (active) {
#pragma unroll
      for (auto& tile : s)
#pragma unroll
        for (float& score : tile) score *= scale;
      softmax_tile<L::Element::kIsBf16>(s, attended, state, p);
    }
    float kept[kDim / 8][4];
    if (kGuard == GroupedGuard::off && !active) copy_sums(state.sums, kept);
    sum_tile<L>(p, stage + kWidePlaneBytes, state);
    if (kGuard == GroupedGuard::off && !active) copy_sums(kept, state.sums);
    __syncwarp();  // what every lane has read is behind it
    if (place.lane == 0) device::arrive(stages.free(base + n));
  }
}

/// The blocks of the group, or only the threads that attended when the block is alone.
__device__ inline void parts_meet(const Work& work) {
  if (work.splits > 1) return group_barrier(work);
  attenders_meet();
}

/// Sums and stats of the warp's rows to the warpgroup's part in shared memory.
template <class L>
__device__ void publish_part(const WarpgroupState& state, float* sums, RowStats* stats, const Place& place) {
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int at = kMRows * place.m_tile + place.g + 8 * row;
    const std::uint32_t attending = quad_or(state.attending >> (8 * row) & 0xFFu);
    if (!has_rows(place)) continue;
    if (place.t == 0) stats[at] = {state.max[row], state.sum[2 * row], attending};
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i)
      *reinterpret_cast<float2*>(sums + L::sum_index(at, 8 * i + 2 * place.t)) = {state.sums[i][2 * row],
                                                                                  state.sums[i][2 * row + 1]};
  }
}

}  // namespace refrain::grouped
