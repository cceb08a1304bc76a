// Number formats on the device, bit for bit what kernels/codec.cpp gives. The
// hardware's conversions are exact for numbers but make every NaN the same one;
// here a NaN keeps its sign, and its payload where the format has room.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace refrain::device {

[[nodiscard]] __device__ inline bool is_nan(float value) {
  return (__float_as_uint(value) & 0x7FFFFFFFu) > 0x7F800000u;
}

[[nodiscard]] __device__ inline float fp16_to_float(std::uint16_t bits) {
  if ((bits & 0x7FFFu) > 0x7C00u) return __uint_as_float((bits & 0x8000u) << 16 | 0x7F800000u | (bits & 0x3FFu) << 13);
  return __half2float(__ushort_as_half(bits));
}

[[nodiscard]] __device__ inline float bf16_to_float(std::uint16_t bits) {
  return __uint_as_float(std::uint32_t{bits} << 16);
}

[[nodiscard]] __device__ inline std::uint16_t float_to_fp16(float value) {
  const std::uint32_t bits = __float_as_uint(value);
  if (is_nan(value)) return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | 0x7E00u | (bits >> 13 & 0x1FFu));
  return __half_as_ushort(__float2half_rn(value));
}

[[nodiscard]] __device__ inline std::uint16_t float_to_bf16(float value) {
  if (is_nan(value)) return static_cast<std::uint16_t>(__float_as_uint(value) >> 16 | 0x40u);
  return __bfloat16_as_ushort(__float2bfloat16_rn(value));
}

/// Two values to two codes, the first in the low byte. Saturating.
[[nodiscard]] __device__ inline std::uint16_t float2_to_e4m3x2(float low, float high) {
  std::uint32_t codes = __nv_cvt_float2_to_fp8x2(make_float2(low, high), __NV_SATFINITE, __NV_E4M3);
  if (is_nan(low)) codes = (codes & 0xFF00u) | (__float_as_uint(low) >> 24 & 0x80u) | 0x7Fu;
  if (is_nan(high)) codes = (codes & 0x00FFu) | (__float_as_uint(high) >> 16 & 0x8000u) | 0x7F00u;
  return static_cast<std::uint16_t>(codes);
}

[[nodiscard]] __device__ inline std::uint8_t float_to_e4m3(float value) {
  return static_cast<std::uint8_t>(float2_to_e4m3x2(value, 0.0f));
}

/// IEEE division whatever the compiler's flags. A NaN operand comes through with its sign and payload, the
/// dividend's first, as it does on the host.
[[nodiscard]] __device__ inline float divide(float value, float by) {
  if (is_nan(value)) return __uint_as_float(__float_as_uint(value) | 0x00400000u);
  if (is_nan(by)) return __uint_as_float(__float_as_uint(by) | 0x00400000u);
  return __fdiv_rn(value, by);
}

}  // namespace refrain::device
