#include "kernels/rope_append.hpp"

#include <cmath>
#include <cstring>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/decoder_cases.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// A turn whose K was not rounded to its dtype before it was encoded.
void run_unrounded(const RopeAppendArgs& args) {
  rope_append.host(args);
  const std::int32_t half = args.rotary_dim / 2;
  for (std::int32_t row = 0; row < *args.batch.rows; ++row) {
    const std::int64_t position = args.batch.query_pos[row], page = position / args.pool.page_size;
    if (position < 0 || args.pool.dtype != Dtype::e4m3) continue;
    const std::int64_t table = std::int64_t{args.batch.token_to_req[row]} * args.batch.pages_per_request;
    const std::int64_t to = args.pool.k_offset(args.batch.page_table[table + page],
                                               static_cast<std::int32_t>(position % args.pool.page_size), 0);
    const std::int64_t from = (row * (args.heads + 2 * std::int64_t{args.pool.kv_heads}) + args.heads) * args.pool.dim;
    for (std::int32_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(position) * std::pow(args.theta, -2.0 * i / args.rotary_dim);
      const auto cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
      const float low = load_as_float(args.qkv, args.dtype, from + i);
      const float high = load_as_float(args.qkv, args.dtype, from + half + i);
      store_from_float(args.pool.data, Dtype::e4m3, to + i, (low * cosine - high * sine) / *args.k_scale);
    }
  }
}

/// What a kernel does that takes its angle in fp32.
void run_by_fp32_angles(const RopeAppendArgs& args) {
  rope_append.host(args);
  const std::int32_t half = args.rotary_dim / 2;
  for (std::int32_t row = 0; row < *args.batch.rows; ++row)
    for (std::int32_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(args.batch.query_pos[row]) *
                          static_cast<float>(std::pow(args.theta, -2.0 * i / args.rotary_dim));
      const std::int64_t from = row * (args.heads + 2 * std::int64_t{args.pool.kv_heads}) * args.pool.dim + i;
      const float low = load_as_float(args.qkv, args.dtype, from);
      const float high = load_as_float(args.qkv, args.dtype, from + half);
      store_from_float(args.q, args.dtype, std::int64_t{row} * args.heads * args.pool.dim + i,
                       low * std::cos(angle) - high * std::sin(angle));
    }
}

}  // namespace

TEST_CASE("rope_append: q and k turn within the stated error and k and v land as kv_append's and every q is written") {
  rope_append_cases([](const RopeAppendArgs& args, Memory& memory) { run_checked(rope_append, args, memory); });
}

TEST_CASE("rope_append: a row without a page or a token or a request appends nothing and its q turns all the same") {
  rope_append_bad_rows([](const RopeAppendArgs& args, Memory& memory) { run_checked(rope_append, args, memory); });
}

TEST_CASE("rope_append: the cases see a K that is encoded before it is rounded", "[!shouldfail]") {
  rope_append_cases([](const RopeAppendArgs& args, Memory&) { run_unrounded(args); });
}

TEST_CASE("rope_append: the cases see an angle in fp32", "[!shouldfail]") {
  rope_append_cases([](const RopeAppendArgs& args, Memory&) { run_by_fp32_angles(args); });
}

TEST_CASE("rope_append: the cases see a q of a pad row that is left as it was", "[!shouldfail]") {
  rope_append_cases([](const RopeAppendArgs& args, Memory&) {
    rope_append.host(args);
    std::memset(static_cast<std::byte*>(args.q) + static_cast<std::size_t>(*args.batch.rows) *
                                                      static_cast<std::size_t>(args.heads) *
                                                      static_cast<std::size_t>(args.pool.dim) * dtype_bytes(args.dtype),
                0xFF, dtype_bytes(args.dtype));
  });
}

TEST_CASE("rope_append: at position 1 the first pair turns by one radian whatever theta is") {
  for (const double theta : {10'000.0, 2.0}) {
    std::uint16_t qkv[12] = {float_to_fp16(1), 0, 0, 0, 0, 0, float_to_fp16(1), 0, 0, 0, 0, 0}, q[4] = {};
    std::uint16_t pool[2 * 2 * 4 * 4] = {};  // two pages of four tokens
    const std::int64_t position = 1;
    const std::int32_t rows = 1, request = 0, length = 2, page = 1;
    const float scale = 1;
    rope_append.host({.qkv = qkv,
                      .dtype = Dtype::fp16,
                      .heads = 1,
                      .theta = theta,
                      .rotary_dim = 4,
                      .pool = {reinterpret_cast<std::byte*>(pool), 2, 4, 1, 4, Dtype::fp16},
                      .batch = {&rows, &request, &position, &length, &page, 1, 1, 1},
                      .k_scale = &scale,
                      .v_scale = &scale,
                      .q = q});
    const std::uint16_t* k = pool + 2 * 4 * 4 + 4;  // page 1's second token
    CHECK(fp16_to_float(q[0]) == Approx(std::cos(1.0)).epsilon(0x1p-11));
    CHECK(fp16_to_float(q[2]) == Approx(std::sin(1.0)).epsilon(0x1p-11));
    CHECK(fp16_to_float(k[0]) == Approx(-std::sin(1.0)).epsilon(0x1p-11));
    CHECK(fp16_to_float(k[2]) == Approx(std::cos(1.0)).epsilon(0x1p-11));
  }
}

TEST_CASE("rope_append: the contract writes all of q and may write pages 1 and up and nothing else") {
  std::uint16_t qkv[2 * 5 * 4], q[2 * 3 * 4], pool[3 * 2 * 4 * 4];
  const std::int64_t positions[2] = {};
  const std::int32_t rows = 2, requests[2] = {}, length = 1, page = 1;
  const float scale = 1;
  RopeAppendArgs args{.qkv = qkv,
                      .dtype = Dtype::bf16,
                      .heads = 3,
                      .rotary_dim = 2,
                      .pool = {reinterpret_cast<std::byte*>(pool), 3, 4, 1, 4, Dtype::bf16},
                      .batch = {&rows, requests, positions, &length, &page, 2, 1, 1},
                      .k_scale = &scale,
                      .v_scale = &scale,
                      .q = q};
  const Contract contract = rope_append.contract(args);
  CHECK((contract.waits && contract.triggers_first));
  int changed = 0;
  for (const Access& access : contract.accesses) {
    CHECK_FALSE(access.before_wait);
    if (access.mode == Mode::read) continue;
    ++changed;
    CHECK(access.mode == Mode::write);
    const bool of_q = access.base == reinterpret_cast<Address>(q);
    CHECK(access.reach == (of_q ? Reach::exact : Reach::may));
    CHECK(access.range == (of_q ? ByteRange{0, sizeof q} : ByteRange{sizeof pool / 3, sizeof pool}));
    CHECK(access.tokens == (of_q ? CacheTokens::any : CacheTokens::appended));
    if (!of_q) CHECK(access.base == reinterpret_cast<Address>(pool));
  }
  CHECK(changed == 2);
  args.rest_is_done = true;
  for (const Access& access : rope_append.contract(args).accesses)
    CHECK(access.before_wait == (access.mode == Mode::read && access.base != reinterpret_cast<Address>(qkv)));
}
