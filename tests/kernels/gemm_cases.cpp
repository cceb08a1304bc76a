#include <cstring>
#include <vector>

#include "tests/catch.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/numbers.hpp"

namespace refrain::test {
namespace {

struct GemmShape {
  std::int32_t bucket, real, n, k;
};

struct GemmScene {
  GemmScene(const GemmShape& given, Dtype dtype, Dtype out_dtype, bool with_bias, Rng& rng) : shape(given) {
    auto* a = take_elements(memory, dtype, std::int64_t{shape.bucket} * shape.k);
    auto* w = take_elements(memory, dtype, std::int64_t{shape.n} * shape.k);
    auto* bias = with_bias ? take_elements(memory, out_dtype, shape.n) : nullptr;
    auto* out = take_elements(memory, out_dtype, std::int64_t{shape.bucket} * shape.n);
    fill_normal(a, dtype, 0, std::int64_t{shape.real} * shape.k, 1, rng);  // pad rows stay NaN
    fill_normal(w, dtype, 0, std::int64_t{shape.n} * shape.k, 0.1f, rng);
    if (with_bias) fill_normal(bias, out_dtype, 0, shape.n, 1, rng);
    args = {.a = a,
            .w = w,
            .bias = bias,
            .dtype = dtype,
            .out_dtype = out_dtype,
            .bucket = shape.bucket,
            .n = shape.n,
            .k = shape.k,
            .out = out};
    pads = a + std::int64_t{shape.real} * shape.k * 2;
  }

  [[nodiscard]] std::vector<std::byte> real_out() const {
    const auto* out = static_cast<const std::byte*>(args.out);
    return {out, out + static_cast<std::size_t>(shape.real) * static_cast<std::size_t>(shape.n) *
                           dtype_bytes(args.out_dtype)};
  }

  /// The bound is that of the last rounding, and 4e-6 of the sum of magnitudes for the fp32 sums: sixteen-bit partial
  /// sums lie a hundred times further off.
  void require_right() const {
    std::vector<float> a(static_cast<std::size_t>(shape.real) * static_cast<std::size_t>(shape.k));
    std::vector<float> w(static_cast<std::size_t>(shape.n) * static_cast<std::size_t>(shape.k));
    decode_to_float(args.a, args.dtype, 0, static_cast<std::int64_t>(a.size()), a.data());
    decode_to_float(args.w, args.dtype, 0, static_cast<std::int64_t>(w.size()), w.data());
    for (std::int64_t row = 0; row < shape.real; ++row)
      for (std::int64_t column = 0; column < shape.n; ++column) {
        double want = args.bias == nullptr ? 0 : load_as_float(args.bias, args.out_dtype, column);
        double magnitude = std::abs(want);
        for (std::int64_t i = 0; i < shape.k; ++i) {
          const double product = double{a[static_cast<std::size_t>(row * shape.k + i)]} *
                                 w[static_cast<std::size_t>(column * shape.k + i)];
          want += product;
          magnitude += std::abs(product);
        }
        CAPTURE(row, column);
        REQUIRE(std::abs(load_as_float(args.out, args.out_dtype, row * shape.n + column) - want) <=
                half_step(args.out_dtype, want) * 1.001 + 4e-6 * magnitude);
      }
  }

  GemmShape shape;
  Memory memory;
  GemmArgs args;
  std::byte* pads;
};

}  // namespace

void gemm_cases(const RunOp<GemmArgs>& run, GemmRows rows) {
  Rng rng(fresh_seed());
  // Fewer steps of k than warps, many turns, rows of w that are nobody's, and several tiles a block, wide and narrow.
  const std::vector<GemmShape> few = {{8, 7, 100, 128},   {1, 1, 31, 1152},    {5, 5, 64, 4096},
                                      {2, 2, 4500, 1152}, {3, 2, 8448, 256},   {8, 7, 4500, 256},
                                      {9, 9, 33, 640},    {16, 13, 4500, 256}, {11, 11, 8448, 128}};
  const std::vector<GemmShape> any = {{5, 3, 7, 9},       {1, 1, 64, 64}, {16, 13, 136, 1000},
                                      {33, 32, 96, 4096}, {3, 2, 1, 1},   {130, 129, 264, 520}};
  for (const GemmShape& shape : rows == GemmRows::few ? few : any)
    for (const Dtype dtype : kHalves)
      for (const bool wide : {false, true})
        for (const bool bias : {false, true}) {
          CAPTURE(shape.bucket, shape.n, shape.k, to_string(dtype), wide, bias);
          GemmScene scene(shape, dtype, wide ? Dtype::fp32 : dtype, bias, rng);
          run(scene.args, scene.memory);
          scene.require_right();
          const std::vector<std::byte> beside_nan = scene.real_out();
          const std::int64_t pads = std::int64_t{shape.bucket - shape.real} * shape.k;
          std::memset(scene.pads, 0, static_cast<std::size_t>(pads) * 2);
          run(scene.args, scene.memory);
          REQUIRE((scene.real_out() == beside_nan));
        }
}

}  // namespace refrain::test
