#include "kernels/rope.hpp"

#include <cmath>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/decoder_cases.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// What a kernel does that takes its angle in fp32.
void rotate_by_fp32_angles(const RopeArgs& args) {
  const std::int32_t half = args.rotary_dim / 2;
  for (std::int32_t row = 0; row < *args.rows; ++row)
    for (std::int32_t head = 0; head < args.heads + args.kv_heads; ++head) {
      const bool is_q = head < args.heads;
      void* data = is_q ? args.q : args.k;
      const std::int64_t first =
          is_q ? (row * args.heads + head) * args.dim : (row * args.kv_heads + head - args.heads) * args.dim;
      for (std::int32_t i = 0; i < half; ++i) {
        const float angle = static_cast<float>(args.query_pos[row]) *
                            static_cast<float>(std::pow(args.theta, -2.0 * i / args.rotary_dim));
        const float low = load_as_float(data, args.dtype, first + i);
        const float high = load_as_float(data, args.dtype, first + half + i);
        store_from_float(data, args.dtype, first + i, low * std::cos(angle) - high * std::sin(angle));
        store_from_float(data, args.dtype, first + half + i, high * std::cos(angle) + low * std::sin(angle));
      }
    }
}

}  // namespace

TEST_CASE("rope: pairs turn by their angle within the stated error up to a position of 2^20 and the rest stays") {
  rope_cases([](const RopeArgs& args, Memory& memory) {
    const Memory::Photo given = memory.photo();
    CHECK(check_writes(rope, args, memory).stray == 0);
    memory.restore(given);  // in place: check_writes has left it rotated from its own runs
    rope.host(args);
  });
}

TEST_CASE("rope: the cases see an angle in fp32", "[!shouldfail]") {
  rope_cases([](const RopeArgs& args, Memory&) { rotate_by_fp32_angles(args); });
}

TEST_CASE("rope: at position 1 the first pair turns by one radian whatever theta is") {
  for (const double theta : {10'000.0, 2.0}) {
    std::uint16_t q[4] = {float_to_fp16(1), float_to_fp16(0), float_to_fp16(0), float_to_fp16(0)}, k[4] = {};
    k[2] = float_to_fp16(1);
    const std::int64_t position = 1;
    const std::int32_t rows = 1;
    rope.host({.q = q,
               .k = k,
               .query_pos = &position,
               .rows = &rows,
               .theta = theta,
               .dtype = Dtype::fp16,
               .bucket = 1,
               .heads = 1,
               .kv_heads = 1,
               .dim = 4,
               .rotary_dim = 4});
    CHECK(fp16_to_float(q[0]) == Approx(std::cos(1.0)).epsilon(0x1p-11));
    CHECK(fp16_to_float(q[2]) == Approx(std::sin(1.0)).epsilon(0x1p-11));
    CHECK(fp16_to_float(k[0]) == Approx(-std::sin(1.0)).epsilon(0x1p-11));
    CHECK(fp16_to_float(k[2]) == Approx(std::cos(1.0)).epsilon(0x1p-11));
  }
}

TEST_CASE("rope: the contract may change q and k and nothing else") {
  std::uint16_t q[24], k[8];
  const std::int64_t positions[2] = {};
  const std::int32_t rows = 2;
  const Contract contract = rope.contract({.q = q,
                                           .k = k,
                                           .query_pos = positions,
                                           .rows = &rows,
                                           .bucket = 2,
                                           .heads = 3,
                                           .kv_heads = 1,
                                           .dim = 4,
                                           .rotary_dim = 2});
  int changed = 0;
  for (const Access& access : contract.accesses) {
    if (access.mode == Mode::read) continue;
    ++changed;
    CHECK(access.mode == Mode::read_write);
    CHECK(access.reach == Reach::may);
    CHECK(access.range.size() == (access.base == reinterpret_cast<Address>(q) ? sizeof q : sizeof k));
  }
  CHECK(changed == 2);
}
