#include "kernels/kv_append.hpp"

#include <climits>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

struct Append {
  Append(const SceneShape& shape, Rng& rng, Dtype input = Dtype::fp16) : scene(shape, rng) {
    count = std::int64_t{scene.batch.bucket} * scene.pool.kv_heads * scene.pool.dim;
    const auto bytes = count * static_cast<std::int64_t>(dtype_bytes(input));
    k = scene.memory.take<std::byte>(bytes);
    v = scene.memory.take<std::byte>(bytes);
    std::normal_distribution<float> normal;
    for (std::int64_t i = 0; i < count; ++i) {
      store_from_float(k, input, i, normal(rng));
      store_from_float(v, input, i, normal(rng));
    }
    args = {.k = k,
            .v = v,
            .input_dtype = input,
            .pool = scene.pool,
            .batch = scene.batch,
            .k_scale = scene.k_scale,
            .v_scale = scene.v_scale};
  }

  [[nodiscard]] std::vector<std::byte> pool_bytes() const {
    return {scene.pool.data, scene.pool.data + scene.pool.bytes()};
  }

  Scene scene;
  std::int64_t count = 0;
  std::byte* k = nullptr;
  std::byte* v = nullptr;
  KvAppendArgs args;
};

}  // namespace

TEST_CASE("kv_append: every row lands at its token, divided by the scale, for every dtype and head") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Dtype kv : {Dtype::e4m3, Dtype::fp16, Dtype::bf16}) {
    for (const Dtype input : {Dtype::fp16, Dtype::bf16, Dtype::fp32}) {
      Append append({.lengths = {35, 9},
                     .rows = {5, 2},
                     .pad_rows = 2,
                     .page_size = 16,
                     .kv_heads = 2,
                     .dim = 16,
                     .kv_dtype = kv,
                     .k_scale = kv == Dtype::e4m3 ? 0.3f : 1.0f,
                     .v_scale = kv == Dtype::e4m3 ? 0.7f : 1.0f},
                    rng, input);
      Scene& s = append.scene;
      run_checked(kv_append, append.args, s.memory);
      for (std::int64_t i = 0; i < 7 * 2 * 16; ++i) {
        const auto row = static_cast<std::int32_t>(i / 32), head = static_cast<std::int32_t>(i / 16 % 2);
        const std::byte* at_k = s.k_row(s.token_to_req[row], s.query_pos[row], head);
        const std::byte* at_v = s.v_row(s.token_to_req[row], s.query_pos[row], head);
        std::uint16_t want[2] = {}, got[2] = {};
        store_from_float(&want[0], kv, 0, load_as_float(append.k, input, i) / *s.k_scale);
        store_from_float(&want[1], kv, 0, load_as_float(append.v, input, i) / *s.v_scale);
        const std::size_t bytes = dtype_bytes(kv);
        std::memcpy(&got[0], at_k + static_cast<std::size_t>(i % 16) * bytes, bytes);
        std::memcpy(&got[1], at_v + static_cast<std::size_t>(i % 16) * bytes, bytes);
        REQUIRE(got[0] == want[0]);
        REQUIRE(got[1] == want[1]);
      }
    }
  }
}

TEST_CASE("kv_append: exactly the bytes of the real rows change") {
  Rng rng(fresh_seed());
  Append append({.lengths = {35, 9}, .rows = {5, 2}, .pad_rows = 9, .page_size = 16, .dim = 16}, rng);
  Scene& s = append.scene;
  for (std::int32_t row = 0; row < 7; ++row)
    for (std::byte* at :
         {s.k_row(s.token_to_req[row], s.query_pos[row]), s.v_row(s.token_to_req[row], s.query_pos[row])})
      std::memset(at, 0xFF, 16);  // a code that no finite input gives
  const std::vector<std::byte> before = append.pool_bytes();
  kv_append.host(append.args);
  const std::vector<std::byte> after = append.pool_bytes();
  std::size_t changed = 0;
  for (std::size_t i = 0; i < after.size(); ++i) changed += before[i] != after[i];
  CHECK(changed == 7u * 2 * 16);
  CHECK(std::equal(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(s.pool.page_bytes()), after.begin()));
}

TEST_CASE("kv_append: pad rows with plausible tables write nothing") {
  Rng rng(fresh_seed());
  Append append({.lengths = {40}, .rows = {8}, .page_size = 16, .dim = 16}, rng);
  *append.scene.rows = 0;  // all eight rows are pad rows now, with valid requests and positions
  const std::vector<std::byte> before = append.pool_bytes();
  kv_append.host(append.args);
  CHECK((append.pool_bytes() == before));
}

TEST_CASE("kv_append: a row without a page, a token or a request writes nothing, never page 0") {
  Rng rng(fresh_seed());
  Append append({.lengths = {40}, .rows = {8}, .page_size = 4, .dim = 16}, rng);
  Scene& s = append.scene;
  const std::vector<std::byte> before = append.pool_bytes();
  const std::int32_t pages[] = {s.page_table[8], s.page_table[9]};  // tokens 32..39
  for (const std::int32_t bad : {0, -1, INT_MIN, INT_MAX, static_cast<std::int32_t>(s.pool.pages)}) {
    s.page_table[8] = s.page_table[9] = bad;
    kv_append.host(append.args);
    CHECK((append.pool_bytes() == before));
  }
  s.page_table[8] = pages[0];
  s.page_table[9] = pages[1];
  for (const std::int64_t position : {std::int64_t{40}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
    std::fill_n(s.query_pos, 8, position);
    kv_append.host(append.args);
    CHECK((append.pool_bytes() == before));
  }
  const std::int32_t past = s.page_table[10];
  s.page_table[10] = pages[0];  // a stale page past the length is a page, but not this request's token 40
  std::fill_n(s.query_pos, 8, 40);
  kv_append.host(append.args);
  CHECK((append.pool_bytes() == before));
  s.page_table[10] = past;
  std::fill_n(s.query_pos, 8, 39);
  for (const std::int32_t request : {-1, 1, INT_MAX}) {
    std::fill_n(s.token_to_req, 8, request);
    kv_append.host(append.args);
    CHECK((append.pool_bytes() == before));
  }
  std::fill_n(s.token_to_req, 8, 0);
  s.seq_len[0] = INT_MAX;  // the table ends first
  std::fill_n(s.query_pos, 8, std::int64_t{4} * s.batch.pages_per_request);
  kv_append.host(append.args);
  CHECK((append.pool_bytes() == before));
}

TEST_CASE("kv_append: E4M3 saturates after the division, NaN stays NaN, and the division is in fp32") {
  Rng rng(fresh_seed());
  Append append({.lengths = {8}, .rows = {1}, .page_size = 4, .dim = 8, .k_scale = 0.01f, .v_scale = 2.0f}, rng,
                Dtype::fp32);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float k[] = {4.48f, 4.7f, -100.0f, kInf, -kInf, NAN, 0.0f, -0.0f};
  const float v[] = {896.0f, 900.0f, -1e30f, 1.0f, -2.0f, -NAN, 0x1p-8f, 0x1p-9f};
  std::memcpy(append.k, k, sizeof k);
  std::memcpy(append.v, v, sizeof v);
  kv_append.host(append.args);
  const std::uint8_t want_k[] = {0x7E, 0x7E, 0xFE, 0x7E, 0xFE, 0x7F, 0x00, 0x80};
  // 1/2 is 0x30 and -1 is 0xB8; 2^-9 is the smallest subnormal; 2^-10 ties to even, which is 0.
  const std::uint8_t want_v[] = {0x7E, 0x7E, 0xFE, 0x30, 0xB8, 0xFF, 0x01, 0x00};
  CHECK(std::memcmp(append.scene.k_row(0, 7), want_k, 8) == 0);
  CHECK(std::memcmp(append.scene.v_row(0, 7), want_v, 8) == 0);
}

TEST_CASE("kv_append: a quotient halfway between two codes is rounded as a quotient, not as a product") {
  // 10.9375 / 7 is 1.5625, the tie between 1.5 (even) and 1.625; 10.9375 * (1 / 7) lies past it in fp32.
  REQUIRE(10.9375f * (1.0f / 7.0f) > 1.5625f);
  Rng rng(fresh_seed());
  Append append({.lengths = {8}, .rows = {1}, .page_size = 4, .dim = 8, .k_scale = 7.0f}, rng, Dtype::fp32);
  for (std::int64_t i = 0; i < 8; ++i) store_from_float(append.k, Dtype::fp32, i, 10.9375f);
  kv_append.host(append.args);
  for (std::int64_t i = 0; i < 8; ++i)
    CHECK(e4m3_to_float(static_cast<std::uint8_t>(append.scene.k_row(0, 7)[i])) == 1.5f);
}

TEST_CASE("kv_append: the contract may write pages 1 and up and leaves the null block out") {
  Rng rng(fresh_seed());
  Append append({.lengths = {8}, .rows = {1}, .page_size = 4, .dim = 8}, rng);
  int writes = 0;
  for (const Access& access : kv_append.contract(append.args).accesses) {
    if (access.mode == Mode::read) continue;
    ++writes;
    CHECK(access.role == Role::kv_pool);
    CHECK(access.tokens == CacheTokens::appended);
    CHECK(access.reach == Reach::may);
    CHECK(access.base == reinterpret_cast<Address>(append.scene.pool.data));
    CHECK(access.range == ByteRange{append.scene.pool.page_bytes(), append.scene.pool.bytes()});
  }
  CHECK(writes == 1);
}
