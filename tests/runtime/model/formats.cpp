#include "tests/runtime/model/formats.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/transfer.hpp"

namespace refrain::test {
namespace {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  double largest;  ///< 0: not saturating
};

Format format_of(Dtype dtype) {
  if (dtype == Dtype::fp16) return {5, 10, 15, 0};
  if (dtype == Dtype::bf16) return {8, 7, 127, 0};
  return {4, 3, 7, 448};
}

double decode(std::uint32_t bits, const Format& f) {
  const auto mantissa = static_cast<int>(bits & ((1u << f.mantissa_bits) - 1));
  const auto exponent = static_cast<int>(bits >> f.mantissa_bits & ((1u << f.exponent_bits) - 1));
  const bool negative = (bits >> (f.mantissa_bits + f.exponent_bits) & 1) != 0;
  const double value = exponent == 0
                           ? std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits)
                           : std::ldexp(mantissa + (1 << f.mantissa_bits), exponent - f.bias - f.mantissa_bits);
  return negative ? -value : value;
}

}  // namespace

double rounded(double value, Dtype dtype) {
  const Format f = format_of(dtype);
  if (value == 0) return 0;
  const double step = std::ldexp(1, std::max(std::ilogb(value), 1 - f.bias) - f.mantissa_bits);
  const double near = std::nearbyint(value / step) * step;
  return f.largest > 0 ? std::clamp(near, -f.largest, f.largest) : near;
}

std::vector<double> read_back(Driver& driver, const Lease& lease, Dtype dtype, std::int64_t count) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(count));
  read_device(driver, std::as_writable_bytes(std::span(bits)), lease.address());
  std::vector<double> out;
  for (const std::uint16_t b : bits) out.push_back(decode(b, format_of(dtype)));
  return out;
}

}  // namespace refrain::test
