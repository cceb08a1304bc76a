#include <cstring>

#include "tests/catch.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/numbers.hpp"

namespace refrain::test {
namespace {

struct RopeShape {
  std::int32_t heads, kv_heads, dim, rotary_dim;
};

constexpr std::int64_t kPositions[] = {0,       1,       -3, 4095,   131'071,
                                       999'983, 1 << 20, 7,  1 << 20};  // the last two: pad rows
constexpr std::int32_t kBucket = 9, kReal = 7;

/// The turn in long double, from scratch: theta's power by its logarithm.
void require_head(const RopeArgs& args, const std::byte* before, const void* after, std::int32_t row,
                  std::int64_t first) {
  const std::int32_t half = args.rotary_dim / 2;
  for (std::int32_t i = 0; i < half; ++i) {
    const long double frequency = std::exp(-std::log(static_cast<long double>(args.theta)) * i / half);
    const long double angle = static_cast<long double>(kPositions[row]) * frequency;
    const auto cosine = static_cast<double>(std::cos(angle)), sine = static_cast<double>(std::sin(angle));
    const double low = load_as_float(before, args.dtype, first + i);
    const double high = load_as_float(before, args.dtype, first + half + i);
    const double want_low = low * cosine - high * sine, want_high = high * cosine + low * sine;
    // The stated error of the turn, and three roundings of fp32.
    const double slack = (kRopeTurnError + 3 * 0x1p-24) * (std::abs(low) + std::abs(high));
    CAPTURE(row, i, first);
    REQUIRE(std::abs(load_as_float(after, args.dtype, first + i) - want_low) <=
            half_step(args.dtype, want_low) * 1.001 + slack);
    REQUIRE(std::abs(load_as_float(after, args.dtype, first + half + i) - want_high) <=
            half_step(args.dtype, want_high) * 1.001 + slack);
  }
}

/// Rotated up to rotary_dim in real rows, and to the bit what it was elsewhere.
void require_rotated(const RopeArgs& args, const std::vector<std::byte>& before, const void* data, std::int32_t heads) {
  const auto bytes_of = [&](std::int64_t count) { return static_cast<std::size_t>(count) * dtype_bytes(args.dtype); };
  const auto* after = static_cast<const std::byte*>(data);
  for (std::int32_t row = 0; row < kBucket; ++row)
    for (std::int32_t head = 0; head < heads; ++head) {
      const std::int64_t first = (std::int64_t{row} * heads + head) * args.dim;
      const std::int32_t turned = row < kReal ? args.rotary_dim : 0;
      if (turned > 0) require_head(args, before.data(), data, row, first);
      const std::size_t rest = bytes_of(first + turned);
      REQUIRE(std::memcmp(after + rest, before.data() + rest, bytes_of(args.dim - turned)) == 0);
    }
}

void one_rope(const RunOp<RopeArgs>& run, Dtype dtype, const RopeShape& shape, double theta, Rng& rng) {
  Memory memory;
  const std::int64_t q_row = std::int64_t{shape.heads} * shape.dim, k_row = std::int64_t{shape.kv_heads} * shape.dim;
  auto* q = take_elements(memory, dtype, kBucket * q_row);
  auto* k = take_elements(memory, dtype, kBucket * k_row);
  auto* positions = memory.take<std::int64_t>(kBucket);
  auto* rows = memory.take<std::int32_t>(1);
  fill_normal(q, dtype, 0, (kReal + 1) * q_row, 1, rng);  // one pad row is plausible, one is NaN
  fill_normal(k, dtype, 0, (kReal + 1) * k_row, 1, rng);
  std::copy(std::begin(kPositions), std::end(kPositions), positions);
  *rows = kReal;
  const Memory::Photo before = memory.photo();
  const RopeArgs args{.q = q,
                      .k = k,
                      .query_pos = positions,
                      .rows = rows,
                      .theta = theta,
                      .dtype = dtype,
                      .bucket = kBucket,
                      .heads = shape.heads,
                      .kv_heads = shape.kv_heads,
                      .dim = shape.dim,
                      .rotary_dim = shape.rotary_dim};
  run(args, memory);
  require_rotated(args, before[0], q, shape.heads);
  require_rotated(args, before[1], k, shape.kv_heads);
}

}  // namespace

void rope_cases(const RunOp<RopeArgs>& run) {
  Rng rng(fresh_seed());
  const RopeShape shapes[] = {{8, 2, 128, 128}, {3, 1, 64, 32},  {2, 2, 10, 6},
                              {1, 1, 2, 2},     {5, 1, 100, 96}, {1, 1, 1032, 1024}};
  for (const Dtype dtype : kHalves)
    for (const RopeShape& shape : shapes)
      for (const double theta : {10'000.0, 500'000.0}) {
        CAPTURE(shape.heads, shape.dim, shape.rotary_dim, theta);
        one_rope(run, dtype, shape, theta, rng);
      }
}

}  // namespace refrain::test
