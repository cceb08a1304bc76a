// The cross-query policy of grouped_attention: a faulty K or V row hurts exactly
// the queries that attend it, and the others not by one bit.
#include <cstring>
#include <functional>

#include "kernels/codec.hpp"
#include "kernels/grouped_attention.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::int64_t kDim = 256;

/// One group: rows 0..3 of request 0, rows 4..7 of request 1. M tile 1 holds heads of queries 2 to 5.
struct MixedGroup {
  explicit MixedGroup(Rng& rng, Dtype kv = Dtype::e4m3)
      : scene({.lengths = {200, 333}, .rows = {4, 4}, .kv_dtype = kv}, rng) {
    scene.select(rng);
  }

  std::vector<std::uint16_t> run(bool zero_unattended = true) {
    GroupedRun r(scene);
    r.run(true, zero_unattended);
    const auto* out = static_cast<const std::uint16_t*>(r.attention.out);
    return {out, out + 8 * kGroupedHeads * kDim};
  }

  Scene scene;
};

bool is_nan_bits(std::uint16_t bits) {
  return (bits & 0x7FFFu) > 0x7C00u;
}

/// Requires NaN exactly where `hurt(query, dim)` says, and equality to the last bit elsewhere.
void require_hurt(const std::vector<std::uint16_t>& clean, const std::vector<std::uint16_t>& got,
                  const std::function<bool(std::int64_t, std::int64_t)>& hurt) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const auto dim = static_cast<std::int64_t>(i) % kDim, query = static_cast<std::int64_t>(i) / kDim / kGroupedHeads;
    CAPTURE(query, dim);
    if (hurt(query, dim)) {
      REQUIRE(is_nan_bits(got[i]));
    } else {
      REQUIRE(got[i] == clean[i]);
    }
  }
}

}  // namespace

TEST_CASE("containment: a NaN V row of one request turns its own queries NaN at those dims and nobody else") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Dtype kv : {Dtype::e4m3, Dtype::fp16, Dtype::bf16}) {
    MixedGroup group(rng, kv);
    const std::vector<std::uint16_t> clean = group.run();
    std::byte* v = group.scene.v_row(0, 77);  // every row of request 0 selects all its complete blocks
    std::memset(v + 10 * dtype_bytes(kv), 0xFF, dtype_bytes(kv));
    std::memset(v + 201 * dtype_bytes(kv), 0xFF, dtype_bytes(kv));
    CAPTURE(to_string(kv));
    require_hurt(clean, group.run(),
                 [](std::int64_t query, std::int64_t dim) { return query < 4 && (dim == 10 || dim == 201); });
  }
}

TEST_CASE("containment: without it the NaN leaks to the other request through the shared M tile") {
  Rng rng(fresh_seed());
  MixedGroup group(rng);
  std::memset(group.scene.pool.data, 0, group.scene.pool.page_bytes());
  group.scene.v_row(0, 77)[10] = std::byte{0x7F};
  const std::vector<std::uint16_t> leaky = group.run(false);
  // Rows 16..31 are one M tile: query 4 (rows 24..29) and two heads of query 5 share it with queries 2 and 3.
  CHECK(is_nan_bits(leaky[(4 * 6 + 0) * kDim + 10]));
  CHECK(is_nan_bits(leaky[(5 * 6 + 1) * kDim + 10]));
  const std::vector<std::uint16_t> kept = group.run(true);
  CHECK_FALSE(is_nan_bits(kept[(4 * 6 + 0) * kDim + 10]));
  CHECK_FALSE(is_nan_bits(kept[(5 * 6 + 1) * kDim + 10]));
}

TEST_CASE("containment: only the queries that attend the row are hurt, even inside one request") {
  Rng rng(fresh_seed());
  MixedGroup group(rng);
  // Query 1 alone keeps block 19 (tokens 76..79); its neighbours drop it.
  for (const std::int64_t row : {0, 2, 3})
    for (std::int64_t i = 0; i < kSelectedWidth; ++i) {
      std::int32_t& token = group.scene.selected[row * kSelectedWidth + i];
      if (token / 4 == 19) token = -1;
    }
  const std::vector<std::uint16_t> clean = group.run();
  group.scene.v_row(0, 77)[10] = std::byte{0xFF};
  require_hurt(clean, group.run(), [](std::int64_t query, std::int64_t dim) { return query == 1 && dim == 10; });
}

TEST_CASE("containment: an infinite V element makes the attending queries infinite and nobody NaN") {
  Rng rng(fresh_seed());
  MixedGroup group(rng, Dtype::fp16);
  const std::vector<std::uint16_t> clean = group.run();
  store_from_float(group.scene.v_row(0, 77), Dtype::fp16, 10, -INFINITY);
  const std::vector<std::uint16_t> got = group.run();
  for (std::size_t i = 0; i < got.size(); ++i) {
    const std::size_t dim = i % kDim, query = i / kDim / kGroupedHeads;
    REQUIRE(got[i] == (query < 4 && dim == 10 ? 0xFC00u : clean[i]));
  }
}

TEST_CASE("containment: a NaN K row turns the attending queries NaN at every dim and nobody else") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const bool protection : {true, false}) {  // K is cured by select alone
    MixedGroup group(rng);
    std::memset(group.scene.pool.data, 0, group.scene.pool.page_bytes());
    for (std::int64_t token = 333; token < 336; ++token) {  // no NaN tail, or it would hurt without protection
      std::memset(group.scene.k_row(1, token), 0, kDim);
      std::memset(group.scene.v_row(1, token), 0, kDim);
    }
    const std::vector<std::uint16_t> clean = group.run(protection);
    group.scene.k_row(0, 77)[10] = std::byte{0x7F};
    require_hurt(clean, group.run(protection), [](std::int64_t query, std::int64_t) { return query < 4; });
  }
}

TEST_CASE("containment: a NaN query row is NaN itself and hurts no other") {
  Rng rng(fresh_seed());
  MixedGroup group(rng);
  const std::vector<std::uint16_t> clean = group.run();
  std::memset(group.scene.q + 5 * kGroupedHeads * kDim * 2, 0xFF, kGroupedHeads * kDim * 2);
  require_hurt(clean, group.run(), [](std::int64_t query, std::int64_t) { return query == 5; });
}
