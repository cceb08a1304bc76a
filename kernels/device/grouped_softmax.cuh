// The online softmax of one M tile against one 32-token tile. Each warp of the
// pair made the scores of 16 tokens; they are exchanged through shared memory as
// they lie in the lanes, and then both warps hold all 32 and the same softmax.
// Masking is by select: a NaN score of a token that a query does not attend is gone.
#pragma once

#include <cstdint>

#include "kernels/device/grouped_formats.cuh"
#include "kernels/device/grouped_instructions.cuh"
#include "kernels/device/grouped_shape.cuh"
#include "kernels/device/mma.cuh"

namespace refrain::grouped {

inline constexpr float kNegativeInf = -__builtin_huge_valf();
inline constexpr float kMaxLag = 8;  ///< in powers of two

/// Of rows g (index 0) and g + 8 (index 1), over kTiles column tiles of the sums. Scores are times log2(e).
template <int kTiles>
struct RowState {
  float sums[kTiles][4] = {};
  float sum[4] = {};                            ///< an accumulator tile whose columns are all the row's sum of p
  float max[2] = {kNegativeInf, kNegativeInf};  ///< what P is relative to: not more than kMaxLag below the max
  std::uint32_t attending = 0;                  ///< bits 0..7: row g attended such a token; bits 8..15: row g + 8
};

/// OR of the tile's masks, and which of its tokens the lane's rows attend: bit 2 i + e is row g and token
/// 8 i + 2 t + e, bit 8 + 2 i + e is row g + 8.
__device__ inline std::uint32_t read_masks(const std::uint32_t* masks, const Place& place, std::uint32_t& attended) {
  const uint4 first = *reinterpret_cast<const uint4*>(masks), last = *reinterpret_cast<const uint4*>(masks + 4);
  const bool odd = place.t >= 2;
  const std::uint32_t mine[4] = {odd ? first.y : first.x, odd ? first.w : first.z, odd ? last.y : last.x,
                                 odd ? last.w : last.z};
  const int bit = 2 * place.t & 3;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    attended |= (mine[i] >> (4 * place.low_query + bit) & 3u) << 2 * i;
    attended |= (mine[i] >> (4 * place.high_query + bit) & 3u) << (8 + 2 * i);
  }
  return first.x | first.y | first.z | first.w | last.x | last.y | last.z | last.w;
}

/// Does any query of the M tile stand in `mask`? The bit of category_of_mask, without its loop.
__device__ inline bool m_tile_active(std::uint32_t mask, int m_tile) {
  const std::uint32_t queries = m_tile == 0 ? 0x00000FFFu : m_tile == 1 ? 0x00FFFF00u : 0xFFF00000u;
  return (mask & queries) != 0;
}
static_assert(m_tiles_of_query(2) == 3 && m_tiles_of_query(5) == 6 && m_tiles_of_query(1) == 1 &&
              m_tiles_of_query(3) == 2 && m_tiles_of_query(6) == 4);

/// The two warps of an M tile meet.
__device__ inline void pair_barrier(const Place& place) {
  named_barrier(1 + place.m_tile, 64);
}

/// Scores of all 32 tokens, in token order: s[i] is column tile i.
__device__ inline void exchange_scores(const float (&mine)[2][4], float (&s)[4][4], std::byte* exchange,
                                       const Place& place) {
  auto* own = reinterpret_cast<float4*>(exchange + place.warp * kExchangeBytes) + place.lane;
  const auto* other = reinterpret_cast<const float4*>(exchange + (place.warp ^ 1) * kExchangeBytes) + place.lane;
  own[0] = {mine[0][0], mine[0][1], mine[0][2], mine[0][3]};
  own[32] = {mine[1][0], mine[1][1], mine[1][2], mine[1][3]};
  pair_barrier(place);
  const float4 theirs[2] = {other[0], other[32]};
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const float got[4] = {theirs[n].x, theirs[n].y, theirs[n].z, theirs[n].w};
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      s[n][e] = place.half == 0 ? mine[n][e] : got[e];
      s[n + 2][e] = place.half == 0 ? got[e] : mine[n][e];
    }
  }
}

/// The row's max over the tile and before; fmaxf passes a NaN over, which then shows in p.
__device__ inline float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(~0u, value, 1));
  return fmaxf(value, __shfl_xor_sync(~0u, value, 2));
}

template <int kTiles>
__device__ void rescale(RowState<kTiles>& state, const float (&factor)[2]) {
  if (!__any_sync(~0u, factor[0] != 1.0f || factor[1] != 1.0f)) return;
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    state.sum[e] *= factor[e / 2];
#pragma unroll
    for (auto& tile : state.sums) tile[e] *= factor[e / 2];
  }
}

/// Scores to P (rounded, 0 where not attended) as A fragments. The max follows; the sums are left for carry_on, with
/// what they have to be multiplied by.
template <bool kBf16, int kTiles>
__device__ void softmax_tile(float (&s)[4][4], std::uint32_t attended, RowState<kTiles>& state,
                             std::uint32_t (&p)[2][4], float (&factor)[2]) {
  float base[2];
  state.attending |= attended;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    float max = state.max[row];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float& score = s[i][2 * row + e];
        score = (attended >> (8 * row + 2 * i + e) & 1u) != 0 ? score : kNegativeInf;
        max = fmaxf(max, score);
      }
    }
    max = quad_max(max);
    // What is kept as the max may lag behind: P of up to 2^kMaxLag is as exact, and the sums are multiplied rarely.
    if (!(max > state.max[row] + kMaxLag)) max = state.max[row];
    base[row] = max == kNegativeInf ? 0.0f : max;  // -inf - -inf is NaN; from 0 every p is 0
    factor[row] = exp2_approximate(state.max[row] - base[row]);
    state.max[row] = max;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int row = 0; row < 2; ++row)
      p[i / 2][i % 2 * 2 + row] = device::pack_rounded<kBf16>(exp2_approximate(s[i][2 * row] - base[row]),
                                                              exp2_approximate(s[i][2 * row + 1] - base[row]));
  }
}

/// The sums before P @ V is added to them: what softmax_tile says they are worth now, and the row's P in its own sum.
template <bool kBf16, int kTiles>
__device__ void carry_on(RowState<kTiles>& state, const float (&factor)[2], const std::uint32_t (&p)[2][4]) {
  rescale(state, factor);
  // The rounded p are summed by the tensor cores too: a column of ones.
  constexpr std::uint32_t kOnes = kBf16 ? 0x3F803F80u : 0x3C003C00u;
  device::mma_16x8x16<kBf16>(state.sum, p[0], kOnes, kOnes);
  device::mma_16x8x16<kBf16>(state.sum, p[1], kOnes, kOnes);
}

}  // namespace refrain::grouped
