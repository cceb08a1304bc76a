#include "kernels/grouped_attention.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "kernels/codec.hpp"
#include "kernels/pad_fix.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/plan_reference.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

const std::vector<std::int32_t> kReportDims = {102, 152, 168, 170, 230};
constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();

/// The null block as the first report has it: finite everywhere but in V of tokens 0..3 at five dims.
void poison_null_block(Scene& scene, bool with_nan) {
  std::memset(scene.pool.data, 0x3A, scene.pool.page_bytes());
  std::byte* v = scene.pool.data + scene.pool.plane_elements();
  for (std::int32_t token = 0; with_nan && token < 4; ++token)
    for (const std::int32_t dim : kReportDims) v[token * scene.pool.dim + dim] = std::byte{0x7F};
}

struct NanCount {
  std::int64_t count = 0;
  std::set<std::int32_t> dims, rows;  ///< rows: row x 6 + head
};

NanCount count_nan(const Scene& scene, const void* out) {
  NanCount n;
  const std::int64_t total = std::int64_t{scene.batch.bucket} * kGroupedHeads * scene.pool.dim;
  for (std::int64_t i = 0; i < total; ++i) {
    if (!is_nan(out, scene.shape.q_dtype, i)) continue;
    ++n.count;
    n.dims.insert(static_cast<std::int32_t>(i % scene.pool.dim));
    n.rows.insert(static_cast<std::int32_t>(i / scene.pool.dim));
  }
  return n;
}

std::vector<std::byte> bytes_of(const Scene& scene, const GroupedRun& run) {
  const auto* out = static_cast<const std::byte*>(run.attention.out);
  const auto* lse = reinterpret_cast<const std::byte*>(run.attention.lse);
  const std::int64_t rows = std::int64_t{scene.batch.bucket} * kGroupedHeads;
  std::vector<std::byte> bytes(out, out + rows * scene.pool.dim * 2);
  bytes.insert(bytes.end(), lse, lse + rows * 4);
  return bytes;
}

/// The oracle rows of every planned group.
std::vector<OracleRow> planned_rows(const Scene& scene) {
  std::vector<OracleRow> rows;
  for (std::int32_t row = 0; row < *scene.rows / 8 * 8; ++row)
    rows.push_back(scene.oracle_row(row, scene.selected_tokens(row)));
  return rows;
}

void require_empty_rows(const Scene& scene, const GroupedRun& run, std::int32_t first_row, std::int32_t last_row) {
  for (std::int32_t at = first_row * 6; at < last_row * 6; ++at) {
    REQUIRE(run.attention.lse[at] == kNegativeInf);
    for (std::int64_t d = 0; d < scene.pool.dim; ++d)
      REQUIRE(load_as_float(run.attention.out, scene.shape.q_dtype, std::int64_t{at} * scene.pool.dim + d) == 0.0f);
  }
}

}  // namespace

TEST_CASE("grouped_attention: every dtype of cache and query agrees with the fp64 oracle") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Dtype kv : {Dtype::e4m3, Dtype::fp16, Dtype::bf16}) {
    for (const Dtype q : {Dtype::fp16, Dtype::bf16}) {
      Scene scene({.lengths = {2600, 301, 90}, .rows = {9, 4, 3}, .kv_dtype = kv, .q_dtype = q}, rng);
      scene.select(rng);
      GroupedRun run(scene);
      run.run(true, true);
      const Compared worst = compare(scene, run.attention.out, run.attention.lse, planned_rows(scene));
      CAPTURE(to_string(kv), to_string(q));
      CHECK(worst.out <= 1.0);
      CHECK(worst.lse <= 1.0);
    }
  }
}

TEST_CASE("grouped_attention: page sizes and dims of every kind agree with the oracle") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  const std::pair<std::int32_t, std::int32_t> shapes[] = {{4, 128}, {16, 64}, {400, 256}, {2052, 128}, {8, 40}};
  for (const auto& [page_size, dim] : shapes) {
    Scene scene({.lengths = {517}, .rows = {16}, .page_size = page_size, .dim = dim}, rng);
    scene.select(rng);
    GroupedRun run(scene);
    run.run(true, true);
    CAPTURE(page_size, dim);
    const Compared worst = compare(scene, run.attention.out, run.attention.lse, planned_rows(scene));
    CHECK(worst.out <= 1.0);
    CHECK(worst.lse <= 1.0);
  }
}

TEST_CASE("grouped_attention: the first report, 480 NaN at its five dims without protection, none with either fix") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({}, rng);  // 19 rows, one request, 2048 tokens, page 32, E4M3
  scene.select_first();
  GroupedRun run(scene);
  poison_null_block(scene, true);

  run.run(false, false);
  const NanCount bad = count_nan(scene, run.attention.out);
  CHECK(bad.count == 480);
  CHECK(bad.count == expected_nan(run.plan, 5));
  CHECK(bad.dims == std::set<std::int32_t>(kReportDims.begin(), kReportDims.end()));

  run.run(true, false);
  const std::vector<std::byte> with_pad_fix = bytes_of(scene, run);
  CHECK(count_nan(scene, run.attention.out).count == 0);
  run.run(false, true);
  const std::vector<std::byte> with_zero = bytes_of(scene, run);
  CHECK(count_nan(scene, run.attention.out).count == 0);
  run.run(true, true);
  CHECK((with_pad_fix == with_zero));
  CHECK((with_zero == bytes_of(scene, run)));
  CHECK(compare(scene, run.attention.out, run.attention.lse, planned_rows(scene)).out <= 1.0);
}

TEST_CASE("grouped_attention: three requests of eight rows give 720 NaN without protection, each M tile hit") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {2048, 2048, 2048}, .rows = {8, 8, 8}}, rng);
  scene.select_first();
  GroupedRun run(scene);
  poison_null_block(scene, true);
  run.run(false, false);
  CHECK(count_nan(scene, run.attention.out).count == 720);
  run.run(false, true);
  CHECK(count_nan(scene, run.attention.out).count == 0);
}

TEST_CASE("grouped_attention: with a finite null block all four combinations of the fixes give the same bytes") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({.lengths = {804, 400}, .rows = {13, 11}}, rng);
  scene.select(rng);
  GroupedRun run(scene);
  poison_null_block(scene, false);
  run.run(true, true);
  const std::vector<std::byte> want = bytes_of(scene, run);
  for (const auto& [fix, zero] : {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
    run.run(fix, zero);
    CHECK((bytes_of(scene, run) == want));
  }
}

TEST_CASE("grouped_attention: a NaN tail of a real microblock hurts only without the kernel's zeroing") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t length : {401, 402, 403}) {
    Scene scene({.lengths = {length}, .rows = {16}}, rng);  // tokens at and past `length` are 0xFF: E4M3 NaN
    scene.select(rng);
    GroupedRun run(scene);
    poison_null_block(scene, false);
    run.run(true, true);
    CAPTURE(length);
    CHECK(count_nan(scene, run.attention.out).count == 0);
    CHECK(compare(scene, run.attention.out, run.attention.lse, planned_rows(scene)).out <= 1.0);

    run.run(true, false);
    const NanCount bad = count_nan(scene, run.attention.out);
    CHECK(bad.rows.count(15 * 6) == 1);  // the last row attends the last microblock, whose tail is NaN
    CHECK(bad.dims.size() == 256u);      // the whole V row is NaN
    for (const std::int32_t row : bad.rows) CHECK(bad.rows.count(row / 16 * 16) == 1);  // NaN spreads by whole M tiles
    CHECK(bad.rows.size() % 16 == 0);
  }
}

TEST_CASE("grouped_attention: a group with no tokens and a group with too few real rows come out empty") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {100}, .rows = {21}, .pad_rows = 2}, rng);  // bucket 23: the third group is clipped
  scene.select(rng);
  for (std::int32_t row = 8; row < 16; ++row) scene.query_pos[row] = -1;
  GroupedRun run(scene);
  plan_grouped.host(run.plan);
  pad_fix.host(run.fix);
  run_checked(grouped_attention, run.attention, scene.memory);
  require_empty_rows(scene, run, 8, 23);
  std::vector<OracleRow> rows = planned_rows(scene);
  rows.resize(8);
  CHECK(compare(scene, run.attention.out, run.attention.lse, rows).out <= 1.0);
}

TEST_CASE("grouped_attention: an empty query in a group that works comes out as 0 and -inf") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {300}, .rows = {8}}, rng);
  scene.select(rng);
  std::fill_n(scene.selected + 2 * kSelectedWidth, kSelectedWidth, -1);
  GroupedRun run(scene);
  run.run(true, true);
  require_empty_rows(scene, run, 2, 3);
  CHECK(compare(scene, run.attention.out, run.attention.lse, planned_rows(scene)).out <= 1.0);
}

TEST_CASE("grouped_attention: a leading tile whose every score is -inf weighs nothing and makes no NaN") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {400}, .rows = {8}, .kv_dtype = Dtype::fp16}, rng);
  scene.select(rng);
  for (std::int64_t at = 0; at < 8 * 6; ++at) store_from_float(scene.q, Dtype::fp16, at * 256, 1.0f);
  for (std::int64_t token = 0; token < 32; ++token)  // the first tile: every row selects these blocks
    store_from_float(scene.k_row(0, token), Dtype::fp16, 0, -INFINITY);
  GroupedRun run(scene);
  run.run(true, true);
  const Compared worst = compare(scene, run.attention.out, run.attention.lse, planned_rows(scene));
  CHECK(worst.out <= 1.0);
  CHECK(worst.lse <= 1.0);
}

TEST_CASE("grouped_attention: running twice on other garbage gives the same bytes") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {1023}, .rows = {17}, .pad_rows = 3}, rng);
  scene.select(rng);
  GroupedRun run(scene);
  run.run(true, true);
  const std::vector<std::byte> first = bytes_of(scene, run);
  std::memset(scene.pool.data, 0x7F, scene.pool.page_bytes());
  std::memset(scene.q + 17 * 6 * 256 * 2, 0x7C, 3 * 6 * 256 * 2);
  std::memset(run.attention.out, 0x7F, 20 * 6 * 256 * 2);
  run.run(true, true);
  CHECK((bytes_of(scene, run) == first));
}

TEST_CASE("grouped_attention: the contract needs pad_fixed over all microblocks and may read the whole pool") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {64}, .rows = {9}, .dim = 32}, rng);
  GroupedRun run(scene);
  const Contract contract = grouped_attention.contract(run.attention);
  REQUIRE(contract.needs.size() == 1);
  CHECK(contract.needs[0].fact == Fact::pad_fixed);
  CHECK(contract.needs[0].base == reinterpret_cast<Address>(run.plan.microblocks));
  CHECK(contract.needs[0].range == ByteRange{0, 2u * kGroupedWidth * 4u});
  int pools = 0;
  for (const Access& access : contract.accesses) {
    if (access.role != Role::kv_pool) continue;
    ++pools;
    CHECK(access.reach == Reach::may);
    CHECK(access.mode == Mode::read);
    CHECK(access.range == ByteRange{0, scene.pool.bytes()});
  }
  CHECK(pools == 1);
}
