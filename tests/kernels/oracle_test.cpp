// The oracle itself, on problems small enough to solve by hand, so that the other
// tests do not lean on a reference that nobody checked.
#include "kernels/attention_oracle.hpp"

#include <cmath>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/memory.hpp"

using namespace refrain;

TEST_CASE("attention_oracle: two tokens weigh by their scores, scales and pages as by hand") {
  test::Memory memory;
  KvPoolView pool{.pages = 3, .page_size = 4, .kv_heads = 2, .dim = 2, .dtype = Dtype::fp16};
  pool.data = memory.take_bytes(pool.bytes());
  const std::int32_t table[] = {2, 1};
  auto* q = memory.take<std::uint16_t>(2 * 2);  // one row, two heads, each with a KV head of its own
  const float queries[] = {1, 0, 0, 1};
  for (std::int64_t i = 0; i < 4; ++i) store_from_float(q, Dtype::fp16, i, queries[i]);
  const auto put = [&](std::int64_t page, std::int32_t token, std::int32_t head, float k, float v) {
    for (std::int64_t d = 0; d < 2; ++d) {
      store_from_float(pool.data, pool.dtype, pool.k_offset(page, token, head) + d, k);
      store_from_float(pool.data, pool.dtype, pool.k_offset(page, token, head) + pool.plane_elements() + d,
                       v + static_cast<float>(d));
    }
  };
  put(2, 3, 0, 4, 10);  // token 3, head 0
  put(1, 0, 0, 8, 20);  // token 4
  put(2, 3, 1, 0, 2);   // head 1
  put(1, 0, 1, 0, 6);
  const OracleRow rows[] = {{0, {3, 4}, table}, {0, {}, table}};
  const OracleResult got = attention_oracle(
      {.q = q, .pool = pool, .rows = 1, .heads = 2, .k_scale = 0.5, .v_scale = 3, .softmax_scale = 0.25}, rows);
  // Head 0: scores 4/8 and 8/8. Head 1: equal scores 0, so the mean.
  const double a = std::exp(0.5), b = std::exp(1.0);
  CHECK(got.out[0] == Approx(3 * (a * 10 + b * 20) / (a + b)));
  CHECK(got.out[1] == Approx(3 * (a * 11 + b * 21) / (a + b)));
  CHECK(got.lse[0] == Approx(std::log(a + b)));
  CHECK(got.out[2] == Approx(3 * 4));
  CHECK(got.lse[1] == Approx(std::log(2.0)));
  for (int i = 4; i < 8; ++i) CHECK(got.out[static_cast<std::size_t>(i)] == 0.0);
  CHECK(got.lse[2] == -HUGE_VAL);
}

TEST_CASE("attention_oracle: its decoders agree with the codec on every code") {
  for (const Dtype dtype : {Dtype::e4m3, Dtype::fp16, Dtype::bf16}) {
    test::Memory memory;
    KvPoolView pool{
        .pages = 2, .page_size = 4, .kv_heads = 1, .dim = dtype == Dtype::e4m3 ? 256 : 65536, .dtype = dtype};
    pool.data = memory.take_bytes(pool.bytes());
    auto* q = memory.take<std::uint16_t>(pool.dim);
    const std::size_t bytes = dtype_bytes(dtype);
    for (std::int32_t d = 0; d < pool.dim; ++d) {
      store_from_float(q, Dtype::fp16, d, 0);
      store_from_float(pool.data, dtype, pool.k_offset(1, 0, 0) + d, 0);
      std::memcpy(pool.data + static_cast<std::size_t>(pool.k_offset(1, 0, 0) + pool.plane_elements() + d) * bytes, &d,
                  bytes);
    }
    const std::int32_t table[] = {1};
    const OracleRow rows[] = {{0, {0}, table}};  // one token: the output is its V
    const OracleResult got = attention_oracle({.q = q, .pool = pool, .rows = 1, .heads = 1}, rows);
    for (std::int32_t d = 0; d < pool.dim; ++d) {
      const double want = load_as_float(&d, dtype, 0), have = got.out[static_cast<std::size_t>(d)];
      REQUIRE((std::isnan(want) ? std::isnan(have) : want == have));
    }
  }
}
