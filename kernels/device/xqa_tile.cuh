// The two products of xqa_decode over one stage of one warp: S = Q @ K^T and
// O += P @ V, B fragments straight from shared memory. For E4M3 the dims are
// permuted so that wide loads hold whole fragments: query_dim and output_dim say
// which dim a fragment's element is; nothing outside this file knows more.
#pragma once

#include <cstdint>

#include "kernels/device/mma.cuh"
#include "kernels/device/xqa_shape.cuh"

namespace refrain::device {

/// The first of the two consecutive dims in A register `half` (0: a0, a1; 1: a2, a3) of k step `step`, for lane t.
template <class Shape>
[[nodiscard]] __device__ constexpr int query_dim(int step, int half, int t) {
  if constexpr (Shape::kE4m3) return step / 4 * 64 + 16 * t + step % 4 * 4 + 2 * half;
  return 16 * step + 8 * half + 2 * t;
}

/// The dim of column `column` (0..7) of accumulator tile `tile`.
template <class Shape>
[[nodiscard]] __device__ constexpr int output_dim(int tile, int column) {
  constexpr int kRun = Shape::kDim < 128 ? 8 : 16;  // dims of one lane's widest V load
  if constexpr (Shape::kE4m3) return tile / kRun * 8 * kRun + kRun * column + tile % kRun;
  return 8 * tile + column;
}

template <class Shape>
using Scores = float[Shape::kTokens / 8][4];

template <class Shape>
using Output = float[Shape::kColumnTiles][4];

[[nodiscard]] __device__ inline uint4 load_shared16(std::uint32_t address) {
  uint4 out;
  asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
               : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
               : "r"(address));
  return out;
}

[[nodiscard]] __device__ inline uint2 load_shared8(std::uint32_t address) {
  uint2 out;
  asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];" : "=r"(out.x), "=r"(out.y) : "r"(address));
  return out;
}

/// scores += q @ k^T; `q(step, fragment)` gives the A fragment of a k step, `k` is the stage's K plane.
template <class Shape, class Query>
__device__ void score_stage(Scores<Shape>& scores, const Query& q, std::uint32_t k) {
  const std::uint32_t lane = threadIdx.x % 32;
  if constexpr (Shape::kE4m3) {
    // Lane (g, t) loads dims 16 t .. 16 t + 15 of token g: B of four k steps.
    const std::uint32_t at = k + Shape::place(lane / 4, lane % 4);
#pragma unroll
    for (int four = 0; four < Shape::kQSteps / 4; ++four) {
      std::uint32_t a[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) q(4 * four + i, a[i]);
#pragma unroll
      for (int n = 0; n < Shape::kTokens / 8; ++n) {
        const uint4 raw = load_shared16((at ^ four << 6) + n * 8 * Shape::kRowBytes);
        const std::uint32_t words[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int i = 0; i < 4; ++i)
          mma_16x8x16<false>(scores[n], a[i], e4m3x2_to_f16x2<0>(words[i]), e4m3x2_to_f16x2<1>(words[i]));
      }
    }
  } else {
    const std::uint32_t at = k + Shape::place((lane & 7) | (lane & 16) >> 1, lane >> 3 & 1);
#pragma unroll
    for (int step = 0; step < Shape::kQSteps; ++step) {
      std::uint32_t a[4];
      q(step, a);
#pragma unroll
      for (int n = 0; n < Shape::kTokens / 16; ++n) {
        std::uint32_t b[4];
        load_matrices(b, (at ^ step << 5) + n * 16 * Shape::kRowBytes);
        mma_16x8x16<Shape::kBf16>(scores[2 * n], a, b[0], b[1]);
        mma_16x8x16<Shape::kBf16>(scores[2 * n + 1], a, b[2], b[3]);
      }
    }
  }
}

/// Four tokens' words of four dims each to the B fragments of four columns: tokens `low` are 2 t and 2 t + 1, `high` 8
/// further.
__device__ inline void accumulate_word(float (*out)[4], const std::uint32_t (&p)[4], const std::uint32_t (&low)[2],
                                       const std::uint32_t (&high)[2]) {
  const std::uint32_t low01 = __byte_perm(low[0], low[1], 0x5140), high01 = __byte_perm(high[0], high[1], 0x5140);
  const std::uint32_t low23 = __byte_perm(low[0], low[1], 0x7362), high23 = __byte_perm(high[0], high[1], 0x7362);
  mma_16x8x16<false>(out[0], p, e4m3x2_to_f16x2<0>(low01), e4m3x2_to_f16x2<0>(high01));
  mma_16x8x16<false>(out[1], p, e4m3x2_to_f16x2<1>(low01), e4m3x2_to_f16x2<1>(high01));
  mma_16x8x16<false>(out[2], p, e4m3x2_to_f16x2<0>(low23), e4m3x2_to_f16x2<0>(high23));
  mma_16x8x16<false>(out[3], p, e4m3x2_to_f16x2<1>(low23), e4m3x2_to_f16x2<1>(high23));
}

/// out += p @ v for the stage's tokens 16 * half .. 16 * half + 15; `p` is their A fragment, `v` the stage's V plane.
template <class Shape>
__device__ void accumulate_half(Output<Shape>& out, const std::uint32_t (&p)[4], std::uint32_t v, int half) {
  const std::uint32_t lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  v += half * 16 * Shape::kRowBytes;
  if constexpr (!Shape::kE4m3) {
    const std::uint32_t at = v + Shape::place(lane & 15, lane >> 4);
#pragma unroll
    for (int j = 0; j < Shape::kDim / 16; ++j) {
      std::uint32_t b[4];
      load_matrices_transposed(b, at ^ j << 5);
      mma_16x8x16<Shape::kBf16>(out[2 * j], p, b[0], b[1]);
      mma_16x8x16<Shape::kBf16>(out[2 * j + 1], p, b[2], b[3]);
    }
  } else if constexpr (Shape::kDim < 128) {
    const std::uint32_t even = v + Shape::place(2 * t, g / 2) + g % 2 * 8;
    const std::uint32_t odd = v + Shape::place(2 * t + 1, g / 2) + g % 2 * 8;
    constexpr int kFurther = 8 * Shape::kRowBytes;
    const uint2 r0 = load_shared8(even), r1 = load_shared8(odd);
    const uint2 r2 = load_shared8(even + kFurther), r3 = load_shared8(odd + kFurther);
    accumulate_word(out, p, {r0.x, r1.x}, {r2.x, r3.x});
    accumulate_word(out + 4, p, {r0.y, r1.y}, {r2.y, r3.y});
  } else {
    const std::uint32_t even = v + Shape::place(2 * t, g), odd = v + Shape::place(2 * t + 1, g);
    constexpr int kFurther = 8 * Shape::kRowBytes;
#pragma unroll
    for (int run = 0; run < Shape::kDim / 128; ++run) {
      const uint4 r0 = load_shared16(even ^ run << 7), r1 = load_shared16(odd ^ run << 7);
      const uint4 r2 = load_shared16((even ^ run << 7) + kFurther), r3 = load_shared16((odd ^ run << 7) + kFurther);
      accumulate_word(out + 16 * run, p, {r0.x, r1.x}, {r2.x, r3.x});
      accumulate_word(out + 16 * run + 4, p, {r0.y, r1.y}, {r2.y, r3.y});
      accumulate_word(out + 16 * run + 8, p, {r0.z, r1.z}, {r2.z, r3.z});
      accumulate_word(out + 16 * run + 12, p, {r0.w, r1.w}, {r2.w, r3.w});
    }
  }
}

}  // namespace refrain::device
