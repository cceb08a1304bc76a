// Number formats on the host, exact: fp16, bf16, E4M3FN to and from fp32, and
// UE8M0 to fp32. Rounding is to nearest, ties to even. Facts on E4M3 and UE8M0:
// OCP's 8-bit floating point and microscaling specifications (E4M3: bias 7,
// largest 448, NaN 0x7F and 0xFF, no Inf).
#pragma once

#include <cstddef>
#include <cstdint>

#include "graphs/contract.hpp"

namespace refrain {

[[nodiscard]] float fp16_to_float(std::uint16_t bits) noexcept;
[[nodiscard]] float bf16_to_float(std::uint16_t bits) noexcept;
[[nodiscard]] float e4m3_to_float(std::uint8_t bits) noexcept;
/// A scale by its exponent alone: 2^(bits - 127), subnormal for 0; 0xFF is NaN, and no code is 0 or Inf.
[[nodiscard]] float ue8m0_to_float(std::uint8_t bits) noexcept;

/// Overflow gives Inf, as the hardware's conversion does.
[[nodiscard]] std::uint16_t float_to_fp16(float value) noexcept;
[[nodiscard]] std::uint16_t float_to_bf16(float value) noexcept;
/// Saturating: |x| > 448 and infinities give +-448, NaN gives 0x7F with the sign.
[[nodiscard]] std::uint8_t float_to_e4m3(float value) noexcept;

/// Element `index` of an array of fp16, bf16, fp32 or e4m3.
[[nodiscard]] float load_as_float(const void* data, Dtype dtype, std::int64_t index) noexcept;
/// `count` elements from element `first`; the same values as load_as_float, without a call for each.
void decode_to_float(const void* data, Dtype dtype, std::int64_t first, std::int64_t count, float* out) noexcept;
void store_from_float(void* data, Dtype dtype, std::int64_t index, float value) noexcept;

}  // namespace refrain
