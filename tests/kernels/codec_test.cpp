// The number formats against their definitions by ldexp, and rounding against a
// search for the nearest code, which knows nothing of bit tricks.
#include "kernels/codec.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Sign, exponent and mantissa taken apart; bias 2^(e-1) - 1.
double by_definition(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                         : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return (bits >> (exponent_bits + mantissa_bits)) != 0 ? -magnitude : magnitude;
}

/// The finite code nearest to |value|, an even code on a tie; codes 0..largest rise in value.
std::uint32_t nearest_code(double value, std::uint32_t largest, int exponent_bits, int mantissa_bits) {
  const double magnitude = std::abs(value);
  std::uint32_t low = 0, high = largest;
  while (low < high) {
    const std::uint32_t middle = (low + high + 1) / 2;
    (by_definition(middle, exponent_bits, mantissa_bits) <= magnitude ? low : high) =
        by_definition(middle, exponent_bits, mantissa_bits) <= magnitude ? middle : middle - 1;
  }
  if (low == largest) return low;
  const double below = magnitude - by_definition(low, exponent_bits, mantissa_bits);
  const double above = by_definition(low + 1, exponent_bits, mantissa_bits) - magnitude;
  if (below == above) return low % 2 == 0 ? low : low + 1;
  return below < above ? low : low + 1;
}

/// fp32 values of every kind: any bit pattern, and magnitudes about those of the small formats.
float random_float(test::Rng& rng) {
  if (rng() % 4 == 0) return std::bit_cast<float>(static_cast<std::uint32_t>(rng()));
  const double mantissa = 1.0 + static_cast<double>(rng() % 65536) / 65536.0;
  const double value = std::ldexp(mantissa, static_cast<int>(rng() % 48) - 30);
  return static_cast<float>(rng() % 2 == 0 ? value : -value);
}

}  // namespace

TEST_CASE("codec: every E4M3 code decodes to its definition, and only 0x7F and 0xFF are NaN") {
  for (std::uint32_t code = 0; code < 256; ++code) {
    const float value = e4m3_to_float(static_cast<std::uint8_t>(code));
    CAPTURE(code, value);
    if ((code & 0x7Fu) == 0x7Fu) {
      REQUIRE(std::isnan(value));
      REQUIRE(std::signbit(value) == (code == 0xFF));
      continue;
    }
    REQUIRE(value == by_definition(code, 4, 3));
    REQUIRE(std::signbit(value) == (code >= 0x80));
  }
}

TEST_CASE("codec: every E4M3 code survives the way to fp32 and back") {
  for (std::uint32_t code = 0; code < 256; ++code)
    REQUIRE(float_to_e4m3(e4m3_to_float(static_cast<std::uint8_t>(code))) == code);
}

TEST_CASE("codec: every UE8M0 code is a power of two, subnormal at 0 and NaN at 255") {
  for (int code = 0; code < 255; ++code)
    REQUIRE(double{ue8m0_to_float(static_cast<std::uint8_t>(code))} == std::ldexp(1.0, code - 127));
  CHECK(std::isnan(ue8m0_to_float(0xFF)));
}

TEST_CASE("codec: E4M3 saturates at 448, keeps NaN and the sign of zero") {
  CHECK(float_to_e4m3(448.0f) == 0x7E);
  CHECK(float_to_e4m3(464.0f) == 0x7E);  // halfway to the code that is NaN
  CHECK(float_to_e4m3(465.0f) == 0x7E);
  CHECK(float_to_e4m3(-465.0f) == 0xFE);
  CHECK(float_to_e4m3(kInf) == 0x7E);
  CHECK(float_to_e4m3(-kInf) == 0xFE);
  CHECK(float_to_e4m3(std::numeric_limits<float>::max()) == 0x7E);
  CHECK(float_to_e4m3(kNan) == 0x7F);
  CHECK(float_to_e4m3(std::copysign(kNan, -1.0f)) == 0xFF);
  CHECK(float_to_e4m3(0.0f) == 0x00);
  CHECK(float_to_e4m3(-0.0f) == 0x80);
}

TEST_CASE("codec: E4M3 rounds a tie to the even code, subnormals included") {
  for (std::uint32_t code = 0; code < 0x7E; ++code) {
    const double low = by_definition(code, 4, 3), high = by_definition(code + 1, 4, 3);
    const auto tie = static_cast<float>((low + high) / 2);  // exact: one more bit
    const std::uint32_t even = code % 2 == 0 ? code : code + 1;
    CAPTURE(code, tie);
    REQUIRE(float_to_e4m3(tie) == even);
    REQUIRE(float_to_e4m3(-tie) == (even | 0x80u));
    REQUIRE(float_to_e4m3(std::nextafter(tie, 0.0f)) == code);
    REQUIRE(float_to_e4m3(std::nextafter(tie, 1000.0f)) == code + 1);
  }
}

TEST_CASE("codec: all 65536 codes of fp16 and bf16 decode to their definition and come back") {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const float half = fp16_to_float(bits), brain = bf16_to_float(bits);
    const bool half_special = (code & 0x7C00u) == 0x7C00u, brain_special = (code & 0x7F80u) == 0x7F80u;
    const bool half_nan = half_special && (code & 0x3FFu) != 0, brain_nan = brain_special && (code & 0x7Fu) != 0;
    if (!half_special) REQUIRE(half == by_definition(code, 5, 10));
    if (!brain_special) REQUIRE(brain == by_definition(code, 8, 7));
    REQUIRE(std::isnan(half) == half_nan);
    REQUIRE(std::isnan(brain) == brain_nan);
    REQUIRE(std::isinf(half) == (half_special && !half_nan));
    REQUIRE(std::isinf(brain) == (brain_special && !brain_nan));
    if (!half_nan) REQUIRE(float_to_fp16(half) == code);
    if (!brain_nan) REQUIRE(float_to_bf16(brain) == code);
    if (half_nan) REQUIRE((float_to_fp16(half) | 0x200u) == (code | 0x200u));  // quiet, sign and payload kept
    if (brain_nan) REQUIRE((float_to_bf16(brain) | 0x40u) == (code | 0x40u));
  }
}

TEST_CASE("codec: fp16 and bf16 overflow to Inf where the hardware does") {
  CHECK(float_to_fp16(65504.0f) == 0x7BFF);
  CHECK(float_to_fp16(std::nextafter(65520.0f, 0.0f)) == 0x7BFF);
  CHECK(float_to_fp16(65520.0f) == 0x7C00);  // the tie goes to the even code, which is Inf
  CHECK(float_to_fp16(-1e30f) == 0xFC00);
  CHECK(float_to_bf16(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(float_to_fp16(0x1p-25f) == 0x0000);  // half of the smallest subnormal, even is 0
  CHECK(float_to_fp16(-0.0f) == 0x8000);
}

TEST_CASE("codec: random values round to the nearest code, ties to even") {
  const std::uint64_t seed = test::fresh_seed();
  INFO("seed " << seed);
  test::Rng rng(seed);
  for (int i = 0; i < 20000; ++i) {
    const float value = random_float(rng);
    if (std::isnan(value)) continue;
    const std::uint32_t sign = std::signbit(value) ? 1 : 0;
    CAPTURE(value);
    REQUIRE(float_to_e4m3(value) == (sign << 7 | nearest_code(value, 0x7E, 4, 3)));
    if (std::abs(value) < 65504.0f) REQUIRE(float_to_fp16(value) == (sign << 15 | nearest_code(value, 0x7BFF, 5, 10)));
    if (std::abs(value) < 1e38f) REQUIRE(float_to_bf16(value) == (sign << 15 | nearest_code(value, 0x7F7F, 8, 7)));
  }
}

TEST_CASE("codec: arrays load and store by index, in bulk as one by one") {
  std::uint8_t bytes[64] = {};
  for (const Dtype dtype : {Dtype::fp16, Dtype::bf16, Dtype::fp32, Dtype::e4m3}) {
    for (std::int64_t i = 0; i < 16; ++i) store_from_float(bytes, dtype, i, static_cast<float>(i) - 7.5f);
    float bulk[10];
    decode_to_float(bytes, dtype, 3, 10, bulk);
    for (std::int64_t i = 3; i < 13; ++i) {
      CHECK(load_as_float(bytes, dtype, i) == static_cast<float>(i) - 7.5f);  // four significant bits: exact in all
      CHECK(bulk[i - 3] == load_as_float(bytes, dtype, i));
    }
  }
}
