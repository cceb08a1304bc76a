// The two products of a tile: scores = K Q^T, entries by heads, and output^T += V^T
// P^T, dims by heads, over all 64 entries, so that 0 * NaN is NaN here as it always
// is in an MMA. K and V are the same rows, read straight and transposed.
#pragma once

#include <cstdint>

#include "kernels/device/mla_shape.cuh"
#include "kernels/device/mma.cuh"

namespace refrain::device {

/// Where the tile's subtiles lie now.
struct MlaSubs {
  std::uint32_t at[4];
};

/// The query of a warp's part of the scores, as B fragments.
template <class Shape>
class MlaQuery {
 public:
  __device__ explicit MlaQuery(std::uint32_t shared) {
    const std::uint32_t part = threadIdx.x / 128, lane = threadIdx.x % 32;
    const std::uint32_t head = part / Shape::kWays * Shape::kPartTiles * 8;
    const std::uint32_t dim_bytes = part % Shape::kWays * Shape::kSteps * 32;
    if constexpr (Shape::kQueryInRegisters) {
      const std::uint32_t from = shared + (head + lane / 4) * Shape::kQueryStride + dim_bytes + lane % 4 * 4;
#pragma unroll
      for (int step = 0; step < Shape::kSteps; ++step)
#pragma unroll
        for (int n = 0; n < Shape::kPartTiles; ++n)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            asm volatile("ld.shared.b32 %0, [%1];"
                         : "=r"(held_[step][n][half])
                         : "r"(from + n * 8 * Shape::kQueryStride + step * 32 + half * 16));
    } else {
      // Matrices: heads 0..7 low and high dims, heads 8..15 likewise.
      static_assert(Shape::kPartTiles == 2);
      rows_ = shared + (head + lane / 16 * 8 + lane % 8) * Shape::kQueryStride + dim_bytes + lane / 8 % 2 * 16;
    }
  }

  __device__ void load(int step, std::uint32_t (&b)[Shape::kPartTiles][2]) const {
    if constexpr (Shape::kQueryInRegisters) {
#pragma unroll
      for (int n = 0; n < Shape::kPartTiles; ++n) b[n][0] = held_[step][n][0], b[n][1] = held_[step][n][1];
    } else {
      std::uint32_t four[4];
      load_matrices(four, rows_ + static_cast<std::uint32_t>(step) * 32);
      b[0][0] = four[0], b[0][1] = four[1], b[1][0] = four[2], b[1][1] = four[3];
    }
  }

 private:
  std::uint32_t held_[Shape::kQueryInRegisters ? Shape::kSteps : 1][Shape::kPartTiles][2];
  std::uint32_t rows_ = 0;
};

/// This warp's part of the tile's scores, unscaled, into [way, head, entry] of `scores`.
template <class Shape>
__device__ void score_tile(const MlaSubs& subs, const MlaQuery<Shape>& query, float* scores) {
  const std::uint32_t sub = threadIdx.x / 32 % 4, part = threadIdx.x / 128, lane = threadIdx.x % 32;
  const std::uint32_t way = part % Shape::kWays;
  const std::uint32_t row = lane % 16, swizzle = row % 8, first = way * Shape::kSteps * 2 + lane / 16;
  const std::uint32_t from = (sub == 0   ? subs.at[0]
                              : sub == 1 ? subs.at[1]
                              : sub == 2 ? subs.at[2]
                                         : subs.at[3]) +
                             row * Shape::kRowBytes;
  float c[2][Shape::kPartTiles][4] = {};  // two chains of products, for one would wait for itself
#pragma unroll
  for (int step = 0; step < Shape::kSteps; ++step) {
    std::uint32_t a[4], b[Shape::kPartTiles][2];
    load_matrices(a, from + (((first + 2 * step) ^ swizzle) << 4));
    query.load(step, b);
#pragma unroll
    for (int n = 0; n < Shape::kPartTiles; ++n) mma_16x8x16<true>(c[step % 2][n], a, b[n][0], b[n][1]);
  }
  const std::uint32_t head = part / Shape::kWays * Shape::kPartTiles * 8 + lane % 4 * 2;
  float* to = scores + (way * Shape::kHeads + head) * Shape::kScoreStride + sub * 16 + lane / 4;
#pragma unroll
  for (int n = 0; n < Shape::kPartTiles; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) to[(8 * n + i % 2) * Shape::kScoreStride + i / 2 * 8] = c[0][n][i] + c[1][n][i];
}

/// A warp's 32 dims of every head's output, transposed.
template <class Shape>
struct MlaOutput {
  static constexpr int kDimTiles = Shape::kDimsAWarp / 16;
  float acc[kDimTiles][Shape::kHeadTiles][4] = {};

  /// By the heads' factors.
  __device__ void scale(const float* factor) {
    const float* mine = factor + threadIdx.x % 4 * 2;
#pragma unroll
    for (int n = 0; n < Shape::kHeadTiles; ++n) {
      const float2 by = *reinterpret_cast<const float2*>(mine + 8 * n);
#pragma unroll
      for (int m = 0; m < kDimTiles; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i) acc[m][n][i] *= i % 2 == 0 ? by.x : by.y;
    }
  }

  __device__ void add(const MlaSubs& subs, std::uint32_t weights) {
    const std::uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32, matrix = lane / 8, swizzle = lane % 8;
    const std::uint32_t row = (matrix / 2 * 8 + lane % 8) * Shape::kRowBytes;
    const std::uint32_t piece = warp * (Shape::kDimsAWarp / 8) + matrix % 2;
    const std::uint32_t weight_row = weights + lane % 8 * Shape::kWeightStride + matrix * 16;
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      std::uint32_t a[2][kDimTiles][4];
#pragma unroll
      for (int k = 0; k < 2; ++k)
#pragma unroll
        for (int m = 0; m < kDimTiles; ++m)
          load_matrices_transposed(a[k][m], subs.at[2 * pair + k] + row + (((piece + 2 * m) ^ swizzle) << 4));
#pragma unroll
      for (int n = 0; n < Shape::kHeadTiles; ++n) {
        std::uint32_t b[4];
        load_matrices(b, weight_row + n * 8 * Shape::kWeightStride + pair * 64);
#pragma unroll
        for (int k = 0; k < 2; ++k)
#pragma unroll
          for (int m = 0; m < kDimTiles; ++m) mma_16x8x16<true>(acc[m][n], a[k][m], b[2 * k], b[2 * k + 1]);
      }
    }
  }

  /// `store(head of the block, dim, value)` for every value that this lane holds.
  template <class Store>
  __device__ void each(Store store) const {
    const int dim = static_cast<int>(threadIdx.x / 32) * Shape::kDimsAWarp + static_cast<int>(threadIdx.x % 32) / 4;
    const int head = static_cast<int>(threadIdx.x % 4) * 2;
#pragma unroll
    for (int n = 0; n < Shape::kHeadTiles; ++n)
#pragma unroll
      for (int m = 0; m < kDimTiles; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i) store(head + 8 * n + i % 2, dim + 16 * m + i / 2 * 8, acc[m][n][i]);
  }
};

}  // namespace refrain::device
