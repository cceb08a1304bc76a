#include "tests/catch.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/numbers.hpp"

namespace refrain::test {
namespace {

void one_silu_mul(const RunOp<SiluMulArgs>& run, Dtype dtype, std::int32_t width, Rng& rng) {
  constexpr std::int32_t kBucket = 7, kReal = 5;
  constexpr float kGateScales[kReal] = {0.1f, 1, 3, 10, 100};  // at 100 the exponential overflows
  Memory memory;
  auto* gate_up = take_elements(memory, dtype, std::int64_t{kBucket} * 2 * width);
  auto* rows = memory.take<std::int32_t>(1);
  auto* out = take_elements(memory, dtype, std::int64_t{kBucket} * width);
  *rows = kReal;
  for (std::int32_t row = 0; row < kReal; ++row) {
    const std::int64_t first = std::int64_t{row} * 2 * width;
    fill_normal(gate_up, dtype, first, width, kGateScales[row], rng);
    fill_normal(gate_up, dtype, first + width, width, 1, rng);
  }
  run({.gate_up = gate_up, .rows = rows, .dtype = dtype, .bucket = kBucket, .width = width, .out = out}, memory);
  for (std::int32_t row = 0; row < kBucket; ++row)
    for (std::int32_t d = 0; d < width; ++d) {
      const double got = load_as_float(out, dtype, std::int64_t{row} * width + d);
      CAPTURE(row, d, got);
      if (row >= kReal) {
        REQUIRE(got == 0);
        continue;
      }
      const double gate = load_as_float(gate_up, dtype, (2 * std::int64_t{row}) * width + d);
      const double up = load_as_float(gate_up, dtype, (2 * std::int64_t{row} + 1) * width + d);
      const double want = gate / (1 + std::exp(-gate)) * up;
      // fp32's exponential of -gate overflows below -88, where 2^-126 times the inputs is all that is left.
      REQUIRE(std::abs(got - want) <=
              half_step(dtype, want) * 1.001 + 1e-6 * std::abs(want) + 0x1p-120 * std::abs(gate * up));
    }
}

}  // namespace

void silu_mul_cases(const RunOp<SiluMulArgs>& run) {
  Rng rng(fresh_seed());
  for (const Dtype dtype : kHalves)
    for (const std::int32_t width : {1, 7, 8, 264, 1001, 4096, 14'336}) {
      CAPTURE(width);
      one_silu_mul(run, dtype, width, rng);
    }
}

}  // namespace refrain::test
