// The online softmax of the sparse MLA kernels, base 2 inside. A warp keeps whole
// heads; its lanes have two entries of a tile each and their own parts of the sums
// until the end. Masking is by predicate and the subtrahend never -inf; the faults
// take just that away. NaN scores pass the max and stay in P.
#pragma once

#include <cstdint>

#include "kernels/device/mla_shape.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/xqa_softmax.cuh"
#include "kernels/sparse_mla.hpp"

namespace refrain::device {

inline constexpr float kLog2OfE = 1.4426950408889634f, kLn2 = 0.6931471805599453f;

/// What the faults change: constants of a launch.
struct MlaMasking {
  __device__ explicit MlaMasking(const SparseMlaArgs& args)
      : scale(args.softmax_scale * kLog2OfE),
        unguarded(args.faults.neg_inf_max),
        by_number(args.faults.neg_inf_max || args.faults.mask_before_scale) {
    if (!args.faults.mask_before_scale || unguarded) return;
    masked = -1e30f * scale;
    start = -1e30f * kLog2OfE;
  }
  float scale;
  bool unguarded, by_number;
  float masked = kMinusInf, start = kMinusInf;
};

struct MlaHeadState {
  float max = kMinusInf;
  float sum = 0, unrounded = 0;  ///< of p as it enters the product, and as it is: for the output, and for the LSE
};

template <class Shape>
struct MlaSoftmax {
  __device__ explicit MlaSoftmax(const MlaMasking& rule) : masking(rule) {
#pragma unroll
    for (MlaHeadState& state : states) state.max = rule.start;
  }

  /// Scores of a tile to P and the factors of the accumulators.
  __device__ void add_tile(const float* scores, const std::uint32_t* attended, char* weights, float* factor) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t mine = attended[lane / 16] >> 2 * (lane % 16);
#pragma unroll
    for (int i = 0; i < Shape::kHeadsAWarp; ++i) {
      const int head = static_cast<int>(threadIdx.x / 32) + i * Shape::kWarps;
      if (head >= Shape::kHeads) break;
      const float* from = scores + head * Shape::kScoreStride + 2 * lane;
      float2 s = {};
#pragma unroll
      for (int way = 0; way < Shape::kWays; ++way) {
        const float2 part = *reinterpret_cast<const float2*>(from + way * Shape::kHeads * Shape::kScoreStride);
        s.x += part.x, s.y += part.y;
      }
      float rescale;
      const std::uint32_t p = weigh(states[i], s, (mine & 1) != 0, (mine & 2) != 0, rescale);
      *reinterpret_cast<std::uint32_t*>(weights + head * Shape::kWeightStride + 4 * lane) = p;
      if (lane == 0) factor[head] = rescale;
    }
  }

  /// Whole sums in every lane.
  __device__ void finish() {
#pragma unroll
    for (MlaHeadState& state : states)
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        state.sum += __shfl_xor_sync(~0u, state.sum, offset);
        state.unrounded += __shfl_xor_sync(~0u, state.unrounded, offset);
      }
  }

  MlaHeadState states[Shape::kHeadsAWarp];
  MlaMasking masking;

 private:
  __device__ std::uint32_t weigh(MlaHeadState& state, float2 s, bool first, bool second, float& rescale) {
    s.x = first ? s.x * masking.scale : masking.masked;
    s.y = second ? s.y * masking.scale : masking.masked;
    float top = fmaxf(s.x, s.y);
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, offset));
    top = fmaxf(top, state.max);
    const float base = masking.unguarded ? top : softmax_base(top);
    rescale = exp2_fast(state.max - base);
    const float px = first || masking.by_number ? exp2_fast(s.x - base) : 0.0f;
    const float py = second || masking.by_number ? exp2_fast(s.y - base) : 0.0f;
    const std::uint32_t packed = pack_rounded<true>(px, py);
    const float2 rounded = unpack<true>(packed);
    state.max = top;
    state.sum = state.sum * rescale + (rounded.x + rounded.y);
    state.unrounded = state.unrounded * rescale + (px + py);
    return packed;
  }
};

/// A head's results: natural LSE and largest logit, and what the accumulator is multiplied by.
struct MlaResult {
  float lse, max_logit, factor;
};

/// `sink`: natural; -inf for none.
[[nodiscard]] __device__ inline MlaResult result_of(const MlaHeadState& state, float sink) {
  const float sink2 = sink * kLog2OfE, top = fmaxf(state.max, sink2), base = softmax_base(top);
  // Nothing attended: the factor is 0, but what a fault made NaN stays NaN under it.
  if (state.sum == 0.0f) return {sink, state.max * kLn2, 0.0f};
  const float rescale = exp2f(state.max - base), of_sink = exp2f(sink2 - base);
  const float lse = (top + log2f(state.unrounded * rescale + of_sink)) * kLn2;
  return {lse, state.max * kLn2, rescale / (state.sum * rescale + of_sink)};
}

}  // namespace refrain::device
