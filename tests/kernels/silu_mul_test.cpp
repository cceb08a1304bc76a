#include "kernels/silu_mul.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/decoder_cases.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("silu_mul: every element agrees with fp64 and pad rows are zeros") {
  silu_mul_cases([](const SiluMulArgs& args, Memory& memory) { run_checked(silu_mul, args, memory); });
}

TEST_CASE("silu_mul: the cases see gate and up in the wrong order", "[!shouldfail]") {
  silu_mul_cases([](const SiluMulArgs& args, Memory&) {
    silu_mul.host(args);
    auto* halves = static_cast<std::uint16_t*>(const_cast<void*>(args.gate_up));
    for (std::int32_t row = 0; row < *args.rows; ++row)
      std::swap_ranges(halves + 2 * row * args.width, halves + (2 * row + 1) * args.width,
                       halves + (2 * row + 1) * args.width);
  });
}

TEST_CASE("silu_mul: gates at the ends of the range") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  // silu of a large gate is the gate; of a large negative one 0, and of -inf nothing that can be said.
  const float gate[] = {0, 1e30f, -1e30f, kInf, -kInf, NAN}, up[] = {5, 2, 2, 2, 2, 2};
  std::uint16_t given[12], out[6];
  for (std::int64_t i = 0; i < 6; ++i) {
    store_from_float(given, Dtype::bf16, i, gate[i]);
    store_from_float(given, Dtype::bf16, 6 + i, up[i]);
  }
  const std::int32_t rows = 1;
  silu_mul.host({.gate_up = given, .rows = &rows, .dtype = Dtype::bf16, .bucket = 1, .width = 6, .out = out});
  CHECK(bf16_to_float(out[0]) == 0);
  CHECK(bf16_to_float(out[1]) == Approx(2e30).epsilon(0x1p-7));
  CHECK(bf16_to_float(out[2]) == 0);
  CHECK(bf16_to_float(out[3]) == kInf);
  CHECK(std::isnan(bf16_to_float(out[4])));
  CHECK(std::isnan(bf16_to_float(out[5])));
}
