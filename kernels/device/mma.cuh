// The warp-wide matrix instructions of the attention kernels: m16n8k16 with fp32
// accumulators, its fragments from shared memory, and what turns fp32 and E4M3
// into fragments. Lane l is (g, t) = (l / 4, l % 4): it holds rows g and g + 8 of A
// and C, column g of B; NaN and Inf go through every product, also through 0 *.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace refrain::device {

/// c += a @ b, 16-bit inputs.
template <bool kBf16>
__device__ inline void mma_16x8x16(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  if constexpr (kBf16)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ inline void load_matrices(std::uint32_t (&out)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row));
}

__device__ inline void load_matrices_transposed(std::uint32_t (&out)[4], std::uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(row));
}

/// Two values rounded to nearest, `low` in the low half.
template <bool kBf16>
[[nodiscard]] __device__ inline std::uint32_t pack_rounded(float low, float high) {
  std::uint32_t out;
  if constexpr (kBf16)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}

/// The two values that pack_rounded left.
template <bool kBf16>
[[nodiscard]] __device__ inline float2 unpack(std::uint32_t packed) {
  if constexpr (kBf16) return {__uint_as_float(packed << 16), __uint_as_float(packed & 0xFFFF0000u)};
  __half2 half;
  __builtin_memcpy(&half, &packed, sizeof half);
  return __half22float2(half);
}

/// The two E4M3 codes in half `kHalf` of `codes`, 0 or 1 (the high one), as f16x2, exact; NaN stays NaN. The
/// instruction takes either half where it lies: no shift ahead of it.
template <int kHalf>
[[nodiscard]] __device__ inline std::uint32_t e4m3x2_to_f16x2(std::uint32_t codes) {
  static_assert(kHalf == 0 || kHalf == 1);
#if __CUDA_ARCH__ >= 890
  std::uint32_t out;
  if constexpr (kHalf == 0)
    asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.rn.f16x2.e4m3x2 %0, lo; }" : "=r"(out) : "r"(codes));
  else
    asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %1; cvt.rn.f16x2.e4m3x2 %0, hi; }" : "=r"(out) : "r"(codes));
  return out;
#else
  // Exponent and mantissa moved into fp16's fields are 2^-8 of the value, subnormals included.
  const std::uint32_t wide =
      __byte_perm(codes, 0, kHalf == 0 ? 0x1404 : 0x3424);  // each code in the high byte of its half
  std::uint32_t bits = (wide & 0x80008000u) | (wide & 0x7F007F00u) >> 1;
  __half2 half;
  __builtin_memcpy(&half, &bits, sizeof half);
  half = __hmul2(half, __float2half2_rn(256.0f));
  __builtin_memcpy(&bits, &half, sizeof half);
  if ((wide & 0x7F00u) == 0x7F00u) bits |= 0x7E00u;
  if ((wide & 0x7F000000u) == 0x7F000000u) bits |= 0x7E000000u;
  return bits;
#endif
}

}  // namespace refrain::device
