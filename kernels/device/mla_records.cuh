// E4M3 records of a tile, as they lie in the ring, to the bf16 rows that the
// products read. The scale is applied in fp32 and the product rounded once, so a
// power of two is exact; a scale's NaN, a code's NaN and 2^-127 come through.
#pragma once

#include <cstdint>

#include "kernels/device/mla_shape.cuh"
#include "kernels/device/mma.cuh"

namespace refrain::device {

[[nodiscard]] __device__ inline uint4 load_shared_piece(std::uint32_t from) {
  uint4 out;
  asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
               : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
               : "r"(from));
  return out;
}

__device__ inline void store_shared_piece(std::uint32_t to, const uint4& value) {
  asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
}

/// 2^(code - 127), exact: 0 is subnormal, 0xFF is NaN.
[[nodiscard]] __device__ inline float ue8m0_to_float(std::uint32_t code) {
  return __uint_as_float(code == 0xFF ? 0x7FC00000u : code == 0 ? 0x00400000u : code << 23);
}

/// The two codes in half `kHalf` of `codes`, scaled, as bf16x2.
template <int kHalf>
[[nodiscard]] __device__ inline std::uint32_t scaled_pair(std::uint32_t codes, float scale) {
  const float2 values = unpack<false>(e4m3x2_to_f16x2<kHalf>(codes));
  return pack_rounded<true>(values.x * scale, values.y * scale);
}

/// Eight codes to a piece of eight bf16.
[[nodiscard]] __device__ inline uint4 scaled_piece(std::uint32_t low, std::uint32_t high, float scale) {
  return {scaled_pair<0>(low, scale), scaled_pair<1>(low, scale), scaled_pair<0>(high, scale),
          scaled_pair<1>(high, scale)};
}

/// The scale of the 16 codes of piece 8 * step + column, out of the entry's: four fp32, or seven UE8M0 in two words.
template <class Shape>
[[nodiscard]] __device__ float scale_of(const uint4& scales, int step, std::uint32_t column) {
  if constexpr (Shape::kFooter) {
    const std::uint32_t pair = (step < 2 ? scales.x : scales.y) >> step % 2 * 16;  // of pieces 0..3 and 4..7
    return ue8m0_to_float((column < 4 ? pair : pair >> 8) & 0xFF);
  }
  return __uint_as_float(step == 0 ? scales.x : step == 1 ? scales.y : step == 2 ? scales.z : scales.w);
}

/// By the whole block, for the tile whose first subtile has ring place `slot`. A thread decodes what it has copied
/// itself, but for the scales, which a thread of its warp has copied: a wait and a __syncwarp before are enough.
template <class Shape>
__device__ void decode_tile(std::uint32_t tile, std::uint32_t ring, std::int32_t slot) {
  constexpr int kCodePieces = Shape::kNope / 16, kWhole = kCodePieces / 8, kRest = kCodePieces % 8;
  constexpr std::uint32_t kRopeAt = Shape::kFooter ? Shape::kNope : Shape::kNope + 16;
  const std::uint32_t entry = threadIdx.x / 8, column = threadIdx.x % 8, row = entry % Shape::kSubEntries;
  const auto place = static_cast<std::uint32_t>(slot) + entry / Shape::kSubEntries;
  const std::uint32_t sub = ring + (place < Shape::kRingSubs ? place : place - Shape::kRingSubs) * Shape::kSubBytes;
  const std::uint32_t record = sub + row * Shape::kRingRowBytes, from = record + 16 * column;
  uint4 scales = {};
  if constexpr (Shape::kFooter)
    asm volatile("ld.shared.v2.b32 {%0,%1}, [%2];"
                 : "=r"(scales.x), "=r"(scales.y)
                 : "r"(sub + Shape::kSubEntries * Shape::kRingRowBytes + row * 8));
  else
    scales = load_shared_piece(record + Shape::kNope);
  // Columns 4..7 store their second half first: the 8 pieces of a phase then lie in different banks.
  const std::uint32_t turn = column / 4;
  const std::uint32_t first = tile + Shape::place(entry, 2 * column + turn);
  const std::uint32_t second = tile + Shape::place(entry, 2 * column + 1 - turn);
#pragma unroll
  for (int step = 0; step < kWhole + (kRest > 0 ? 1 : 0); ++step) {
    if (step == kWhole && static_cast<int>(column) >= kRest) break;
    const float scale = scale_of<Shape>(scales, step, column);
    const uint4 codes = load_shared_piece(from + 128 * step);
    const uint4 halves[2] = {scaled_piece(codes.x, codes.y, scale), scaled_piece(codes.z, codes.w, scale)};
    store_shared_piece(first + 256 * step, turn == 0 ? halves[0] : halves[1]);
    store_shared_piece(second + 256 * step, turn == 0 ? halves[1] : halves[0]);
  }
  store_shared_piece(tile + Shape::place(entry, Shape::kNope / 8 + column), load_shared_piece(from + kRopeAt));
}

}  // namespace refrain::device
