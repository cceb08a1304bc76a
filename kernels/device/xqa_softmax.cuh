// The online softmax of one warp over its stages, base 2 inside. Lane (g, t) keeps
// rows g and g + 8; the four lanes of a row agree on its max and each has its own
// part of the sum until finish(). Masking is by select, P is rounded before it is
// summed, and the subtrahend is never -inf. NaN scores pass the max and stay in P.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/device/xqa_tile.cuh"

namespace refrain::device {

inline constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

[[nodiscard]] __device__ inline float exp2_fast(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

/// What to subtract: `max`, or 0 where no score was above -inf, so that -inf - -inf never happens.
[[nodiscard]] __device__ inline float softmax_base(float max) {
  return max == kMinusInf ? 0.0f : max;
}

template <class Shape>
struct XqaSoftmax {
  float max[2] = {kMinusInf, kMinusInf};
  float sum[2] = {};
  Output<Shape> out = {};

  /// Turns the scores of tokens first .. first + kTokens - 1 into P fragments, one an accumulate_half, and re-scales
  /// what is there. Tokens outside [begin, end) get P = 0. `scale` includes log2(e).
  __device__ void add_scores(Scores<Shape>& scores, float scale, std::int32_t first, std::int32_t begin,
                             std::int32_t end, std::uint32_t (&p)[Shape::kTokens / 16][4]) {
    const bool whole = first >= begin && first + Shape::kTokens <= end;
#pragma unroll
    for (int n = 0; n < Shape::kTokens / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[n][i] *= scale;
    if (!whole) keep_within(scores, first, begin, end, kMinusInf);
    raise_max(scores);
#pragma unroll
    for (int n = 0; n < Shape::kTokens / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) scores[n][i] = exp2_fast(scores[n][i] - softmax_base(max[i / 2]));
    if (!whole) keep_within(scores, first, begin, end, 0.0f);
#pragma unroll
    for (int n = 0; n < Shape::kTokens / 8; ++n)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const std::uint32_t packed = pack_rounded<Shape::kBf16>(scores[n][2 * r], scores[n][2 * r + 1]);
        const float2 rounded = unpack<Shape::kBf16>(packed);
        sum[r] += rounded.x + rounded.y;
        p[n / 2][n % 2 * 2 + r] = packed;
      }
  }

  /// The whole row's sum in each of its lanes.
  __device__ void finish() {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
      sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
    }
  }

 private:
  /// Values of tokens outside [begin, end) become `other`.
  __device__ static void keep_within(Scores<Shape>& values, std::int32_t first, std::int32_t begin, std::int32_t end,
                                     float other) {
    const std::int32_t lane_first = first + static_cast<std::int32_t>(threadIdx.x % 4) * 2;
    const std::int32_t from = begin - lane_first, to = end - lane_first;
#pragma unroll
    for (int n = 0; n < Shape::kTokens / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i)
        if (8 * n + i % 2 < from || 8 * n + i % 2 >= to) values[n][i] = other;
  }

  __device__ void raise_max(const Scores<Shape>& scores) {
    float scale[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float top = max[r];
#pragma unroll
      for (int n = 0; n < Shape::kTokens / 8; ++n) top = fmaxf(top, fmaxf(scores[n][2 * r], scores[n][2 * r + 1]));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 1));
      top = fmaxf(top, __shfl_xor_sync(~0u, top, 2));
      scale[r] = exp2_fast(max[r] - softmax_base(top));
      max[r] = top;
      sum[r] *= scale[r];
    }
    if (!__any_sync(~0u, scale[0] != 1.0f || scale[1] != 1.0f)) return;
#pragma unroll
    for (int j = 0; j < Shape::kColumnTiles; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) out[j][i] *= scale[i / 2];
  }
};

}  // namespace refrain::device
