#include "kernels/codec.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <cstring>

namespace refrain {
namespace {

constexpr std::uint32_t kFloatInf = 0x7F800000u;

constexpr float decode_e4m3(std::uint8_t bits) {
  const std::uint32_t sign = (bits & 0x80u) << 24, exponent = bits >> 3 & 0xFu, mantissa = bits & 7u;
  if ((bits & 0x7Fu) == 0x7Fu) return std::bit_cast<float>(sign | 0x7FC00000u);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-9f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 120u) << 23 | mantissa << 20);
}

constexpr std::array<float, 256> make_e4m3_table() {
  std::array<float, 256> table{};
  for (std::size_t code = 0; code < 256; ++code) table[code] = decode_e4m3(static_cast<std::uint8_t>(code));
  return table;
}

constexpr std::array<float, 256> kE4m3Table = make_e4m3_table();

template <class T>
T load(const void* data, std::int64_t index) noexcept {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <class T>
void store(void* data, std::int64_t index, T value) noexcept {
  std::memcpy(static_cast<std::byte*>(data) + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

template <class Bits, class Decode>
void decode_all(const void* data, std::int64_t first, std::int64_t count, float* out, Decode decode) noexcept {
  for (std::int64_t i = 0; i < count; ++i) out[i] = decode(load<Bits>(data, first + i));
}

}  // namespace

float fp16_to_float(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1Fu, mantissa = bits & 0x3FFu;
  if (exponent == 0x1F) return std::bit_cast<float>(sign | kFloatInf | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112u) << 23 | mantissa << 13);
  const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

float bf16_to_float(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

float e4m3_to_float(std::uint8_t bits) noexcept {
  return kE4m3Table[bits];
}

float ue8m0_to_float(std::uint8_t bits) noexcept {
  if (bits == 0xFF) return std::bit_cast<float>(0x7FC00000u);
  return std::bit_cast<float>(bits == 0 ? 0x00400000u : std::uint32_t{bits} << 23);
}

std::uint16_t float_to_fp16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > kFloatInf) return static_cast<std::uint16_t>(sign | 0x7E00u | (magnitude >> 13 & 0x1FFu));
  if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // 65520 and up round to Inf
  if (magnitude < 0x38800000u) {
    // Below 2^-14: the ulp of 0.5 is 2^-24, fp16's smallest step, so one fp32 addition rounds to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u));
  }
  magnitude += 0xFFFu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | (magnitude - 0x38000000u) >> 13);
}

std::uint16_t float_to_bf16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > kFloatInf) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

std::uint8_t float_to_e4m3(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 24 & 0x80u;
  std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > kFloatInf) return static_cast<std::uint8_t>(sign | 0x7Fu);
  if (magnitude >= 0x43E00000u) return static_cast<std::uint8_t>(sign | 0x7Eu);  // 448
  if (magnitude < 0x3C800000u) {
    // Below 2^-6: the ulp of 2^14 is 2^-9, E4M3's smallest step.
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x46800000u));
  }
  magnitude += 0x7FFFFu + (magnitude >> 20 & 1u);
  return static_cast<std::uint8_t>(sign | (magnitude - 0x3C000000u) >> 20);
}

float load_as_float(const void* data, Dtype dtype, std::int64_t index) noexcept {
  float value = 0;
  decode_to_float(data, dtype, index, 1, &value);
  return value;
}

void decode_to_float(const void* data, Dtype dtype, std::int64_t first, std::int64_t count, float* out) noexcept {
  switch (dtype) {
    case Dtype::fp16: return decode_all<std::uint16_t>(data, first, count, out, fp16_to_float);
    case Dtype::bf16: return decode_all<std::uint16_t>(data, first, count, out, bf16_to_float);
    case Dtype::e4m3: return decode_all<std::uint8_t>(data, first, count, out, e4m3_to_float);
    case Dtype::fp32: return decode_all<float>(data, first, count, out, [](float value) { return value; });
    default: assert(false && "decode_to_float: fp16, bf16, fp32 or e4m3");
  }
}

void store_from_float(void* data, Dtype dtype, std::int64_t index, float value) noexcept {
  switch (dtype) {
    case Dtype::fp16: return store(data, index, float_to_fp16(value));
    case Dtype::bf16: return store(data, index, float_to_bf16(value));
    case Dtype::e4m3: return store(data, index, float_to_e4m3(value));
    case Dtype::fp32: return store(data, index, value);
    default: assert(false && "store_from_float: fp16, bf16, fp32 or e4m3");
  }
}

}  // namespace refrain
