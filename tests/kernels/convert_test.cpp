#include "kernels/convert.hpp"

#include <cmath>
#include <functional>

#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/memory.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// A code's value, decoded here from its fields: `bits` of mantissa under an exponent with `bias`.
double value_of(std::uint16_t code, int bits, int bias) {
  const int exponent = (code & 0x7FFF) >> bits, mantissa = code & ((1 << bits) - 1), top = (1 << (15 - bits)) - 1;
  const double sign = code >> 15 != 0 ? -1 : 1;
  if (exponent == top) return mantissa != 0 ? NAN : sign * HUGE_VAL;
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << bits);
  return sign * std::ldexp(whole, std::max(exponent, 1) - bias - bits);
}

double value_of(std::uint16_t code, Dtype dtype) {
  return dtype == Dtype::fp16 ? value_of(code, 10, 15) : value_of(code, 7, 127);
}

/// The code whose value lies nearest, of two the even one: by trying its neighbours.
bool is_nearest(std::uint16_t code, double value, Dtype dtype) {
  const double got = value_of(code, dtype);
  if (std::isnan(value)) return std::isnan(got);
  if (std::signbit(got) != std::signbit(value)) return false;
  const double largest = dtype == Dtype::fp16 ? 65504 : std::ldexp(255, 120);
  const double half_past = dtype == Dtype::fp16 ? 65520 : std::ldexp(511, 119);
  if (std::abs(value) >= half_past) return std::isinf(got);
  if (std::isinf(got) || std::abs(got) > largest) return false;
  const double distance = std::abs(got - value);
  for (const int step : {-1, 1}) {
    const auto other = static_cast<std::uint16_t>(code + step);
    if ((other ^ code) >> 15 != 0) continue;
    const double theirs = std::abs(value_of(other, dtype) - value);
    if (theirs < distance || (theirs == distance && code % 2 != 0)) return false;
  }
  return true;
}

void convert_cases(const std::function<void(const ConvertArgs&, Memory&)>& run) {
  for (const Dtype from : {Dtype::fp16, Dtype::bf16}) {
    const Dtype to = from == Dtype::fp16 ? Dtype::bf16 : Dtype::fp16;
    Memory memory;
    auto* codes = memory.take<std::uint16_t>(65'536);
    auto* out = memory.take<std::uint16_t>(65'536);
    for (std::int32_t i = 0; i < 65'536; ++i) codes[i] = static_cast<std::uint16_t>(i);
    run({.from = codes, .from_dtype = from, .to_dtype = to, .count = 65'536, .to = out}, memory);
    for (std::int32_t i = 0; i < 65'536; ++i) {
      CAPTURE(i, to_string(from));
      REQUIRE(is_nearest(out[i], value_of(codes[i], from), to));
    }
  }
}

}  // namespace

TEST_CASE("convert: every code of fp16 and bf16 becomes the nearest of the other format") {
  convert_cases([](const ConvertArgs& args, Memory& memory) { run_checked(convert, args, memory); });
}

TEST_CASE("convert: the cases see values that are cut and not rounded", "[!shouldfail]") {
  convert_cases([](const ConvertArgs& args, Memory&) {
    convert.host(args);
    if (args.to_dtype != Dtype::bf16) return;
    for (std::int64_t i = 0; i < args.count; ++i) {
      auto* code = static_cast<std::uint16_t*>(args.to) + i;
      const auto from = static_cast<const std::uint16_t*>(args.from)[i];
      if ((from & 0x7C00) != 0x7C00 && std::abs(value_of(*code, Dtype::bf16)) > std::abs(value_of(from, Dtype::fp16)))
        --*code;
    }
  });
}
