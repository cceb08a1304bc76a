#include "tests/catch.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/numbers.hpp"

namespace refrain::test {
namespace {

struct Norm {
  Norm(Dtype dtype, std::int32_t width, bool with_residual, Rng& rng) {
    const std::int64_t all = std::int64_t{kBucket} * width, real = std::int64_t{kReal} * width;
    auto* x = take_elements(memory, dtype, all);
    auto* weight = take_elements(memory, dtype, width);
    auto* rows = memory.take<std::int32_t>(1);
    auto* residual = with_residual ? take_elements(memory, dtype, all) : nullptr;
    auto* out = take_elements(memory, dtype, all);
    for (std::int32_t row = 0; row < kReal; ++row)
      fill_normal(x, dtype, std::int64_t{row} * width, width, kScales[row], rng);
    fill_normal(weight, dtype, 0, width, 1, rng);
    if (with_residual) fill_normal(residual, dtype, 0, real, 1, rng);
    *rows = kReal;
    args = {.x = x,
            .weight = weight,
            .rows = rows,
            .eps = 1e-5f,
            .dtype = dtype,
            .bucket = kBucket,
            .width = width,
            .residual = residual,
            .out = out};
    for (std::int64_t i = 0; with_residual && i < real; ++i)
      sums.push_back(double{load_as_float(x, dtype, i)} + load_as_float(residual, dtype, i));
  }

  /// What the norm is taken of: x, or what has been stored as the sum.
  [[nodiscard]] double normed(std::int64_t i) const {
    return load_as_float(args.residual != nullptr ? args.residual : args.x, args.dtype, i);
  }

  void require_row(std::int32_t row) const {
    const std::int64_t first = std::int64_t{row} * args.width;
    double squares = 0;
    for (std::int64_t i = first; i < first + args.width; ++i) squares += normed(i) * normed(i);
    const double root = std::sqrt(squares / args.width + double{args.eps});
    for (std::int32_t d = 0; d < args.width; ++d) {
      CAPTURE(row, d);
      const double want = normed(first + d) / root * load_as_float(args.weight, args.dtype, d);
      // fp32 inside: a relative 1e-6 is generous for tiled sums, and the rounding at the end is the bound.
      REQUIRE(std::abs(load_as_float(args.out, args.dtype, first + d) - want) <=
              half_step(args.dtype, want) * 1.001 + 1e-6 * std::abs(want));
      if (args.residual == nullptr) continue;
      const double sum = sums[static_cast<std::size_t>(first + d)];
      REQUIRE(std::abs(normed(first + d) - sum) <= half_step(args.dtype, sum) * 1.001);
    }
  }

  void require_right() const {
    for (std::int32_t row = 0; row < kReal; ++row) require_row(row);
    for (std::int64_t i = std::int64_t{kReal} * args.width; i < std::int64_t{kBucket} * args.width; ++i) {
      REQUIRE(load_as_float(args.out, args.dtype, i) == 0);
      if (args.residual != nullptr) REQUIRE(load_as_float(args.residual, args.dtype, i) == 0);
    }
  }

  static constexpr std::int32_t kReal = 4, kBucket = 6;
  static constexpr float kScales[kReal] = {1, 30, 1e-3f, 0};  // 1e-3: eps is most of the root; 0: zeros, no NaN
  Memory memory;
  RmsNormArgs args;
  std::vector<double> sums;
};

}  // namespace

void rms_norm_cases(const RunOp<RmsNormArgs>& run) {
  Rng rng(fresh_seed());
  for (const Dtype dtype : kHalves)
    for (const std::int32_t width : {1, 7, 8, 264, 1001, 4096, 8200, 20'008})
      for (const bool residual : {false, true}) {
        CAPTURE(width, residual);
        Norm norm(dtype, width, residual, rng);
        run(norm.args, norm.memory);
        norm.require_right();
      }
}

}  // namespace refrain::test
