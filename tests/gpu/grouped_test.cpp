// grouped_attention on the device: the plan by the twins, the kernel on a copy of
// the same bytes. Numbers against the fp64 oracle, what is NaN against the twin,
// and every run twice, launched and replayed as a graph over other garbage.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "kernels/codec.hpp"
#include "kernels/grouped_attention.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/grouped_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

struct Dtypes {
  Dtype kv, q;
};
constexpr Dtypes kDtypes[] = {
    {Dtype::e4m3, Dtype::fp16}, {Dtype::fp16, Dtype::fp16}, {Dtype::bf16, Dtype::bf16}, {Dtype::e4m3, Dtype::bf16}};

const std::vector<std::int32_t> kReportDims = {102, 152, 168, 170, 230};

std::vector<OracleRow> planned_rows(const Scene& scene) {
  std::vector<OracleRow> rows;
  for (std::int32_t row = 0; row < *scene.rows / 8 * 8; ++row)
    rows.push_back(scene.oracle_row(row, scene.selected_tokens(row)));
  return rows;
}

void require_right(const Scene& scene, const GroupedOutputs& got) {
  const Compared worst = compare(scene, got.out.data(), got.lse.data(), planned_rows(scene));
  CHECK(worst.out <= 1.0);
  CHECK(worst.lse <= 1.0);
}

void require_empty_rows(const Scene& scene, const GroupedOutputs& got, std::int32_t first, std::int32_t last) {
  for (std::int32_t at = first * 6; at < last * 6; ++at) {
    CAPTURE(at);
    REQUIRE(got.lse[static_cast<std::size_t>(at)] == -std::numeric_limits<float>::infinity());
    for (std::int64_t d = 0; d < scene.pool.dim; ++d)
      REQUIRE(load_as_float(got.out.data(), scene.shape.q_dtype, std::int64_t{at} * scene.pool.dim + d) == 0.0f);
  }
}

std::vector<bool> nan_places(const Scene& scene, const void* out) {
  const std::int64_t total = std::int64_t{scene.batch.bucket} * kGroupedHeads * scene.pool.dim;
  std::vector<bool> places(static_cast<std::size_t>(total));
  for (std::int64_t i = 0; i < total; ++i) places[static_cast<std::size_t>(i)] = is_nan(out, scene.shape.q_dtype, i);
  return places;
}

std::int64_t count(const std::vector<bool>& places) {
  return std::count(places.begin(), places.end(), true);
}

/// The null block finite everywhere, but for V of tokens 0..3 at five dims where wanted.
void fill_null_block(Scene& scene, bool with_nan) {
  std::memset(scene.pool.data, 0x3A, scene.pool.page_bytes());
  std::byte* v = scene.pool.data + scene.pool.plane_elements();
  for (std::int32_t token = 0; with_nan && token < 4; ++token)
    for (const std::int32_t dim : kReportDims) v[token * scene.pool.dim + dim] = std::byte{0x7F};
}

/// 8 x 6 rows of 256 with one flag an element.
using Flags = std::vector<bool>;

/// NaN exactly where `hurt` says, the same bits as without elsewhere.
void require_hurt(const GroupedOutputs& clean, const GroupedOutputs& got, Dtype q, const Flags& hurt) {
  const auto* before = reinterpret_cast<const std::uint16_t*>(clean.out.data());
  const auto* after = reinterpret_cast<const std::uint16_t*>(got.out.data());
  std::size_t not_nan = 0, changed = 0;
  for (std::size_t i = 0; i < hurt.size(); ++i) {
    if (hurt[i])
      not_nan += is_nan(after, q, static_cast<std::int64_t>(i)) ? 0 : 1;
    else
      changed += before[i] == after[i] ? 0 : 1;
  }
  CHECK(not_nan == 0);
  CHECK(changed == 0);
}

/// Elements of the rows that attend `token` of `request`, at `dim` or at every dim (-1).
Flags attending_elements(const Scene& scene, std::int32_t request, std::int64_t token, std::int64_t dim) {
  Flags hurt(static_cast<std::size_t>(scene.batch.bucket) * kGroupedHeads * 256);
  for (std::int32_t row = 0; row < *scene.rows / 8 * 8; ++row) {
    if (scene.token_to_req[row] != request) continue;
    const std::vector<std::int64_t> tokens = scene.selected_tokens(row);
    if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) continue;
    for (std::int64_t i = 0; i < kGroupedHeads * 256; ++i)
      if (dim < 0 || i % 256 == dim) hurt[static_cast<std::size_t>(std::int64_t{row} * kGroupedHeads * 256 + i)] = true;
  }
  return hurt;
}

}  // namespace

TEST_CASE("grouped on the device: contexts, rows, pages and dtypes agree with the fp64 oracle") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  const std::int32_t pages[] = {4, 16, 32, 64};
  int turn = 0;
  for (const std::int32_t context : {19, 20, 31, 400, 804, 2048, 2051, 8192}) {
    for (const std::int32_t rows : {16, 19, 24, 49}) {
      const Dtypes& dtypes = kDtypes[turn % 4];
      const std::int32_t page = pages[(turn / 4 + turn) % 4];  // over eight contexts every page meets every dtype
      ++turn;
      Scene scene({.lengths = {context}, .rows = {rows}, .page_size = page, .kv_dtype = dtypes.kv, .q_dtype = dtypes.q},
                  rng);
      scene.select(rng);
      GroupedRun run(scene);
      CAPTURE(context, rows, page, to_string(dtypes.kv), to_string(dtypes.q));
      const GroupedOutputs got = run_grouped_on_device(run, true, true);
      require_right(scene, got);
      require_empty_rows(scene, got, rows / 8 * 8, rows);
    }
  }
}

TEST_CASE("grouped on the device: requests that share a group agree with the oracle, in every dtype") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Dtypes& dtypes : kDtypes) {
    Scene scene({.lengths = {2600, 301, 90, 7}, .rows = {9, 4, 8, 3}, .kv_dtype = dtypes.kv, .q_dtype = dtypes.q}, rng);
    scene.select(rng);
    GroupedRun run(scene);
    CAPTURE(to_string(dtypes.kv), to_string(dtypes.q));
    require_right(scene, run_grouped_on_device(run, true, true));
  }
}

TEST_CASE("grouped on the device: one, two, four and eight blocks a group agree with the oracle") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t rows : {1040, 520, 264, 136}) {
    Scene scene({.lengths = {rows + 50}, .rows = {rows}}, rng);
    scene.select(rng);
    GroupedRun run(scene);
    CAPTURE(rows);
    const GroupedOutputs clean = run_grouped_on_device(run, true, true);
    require_right(scene, clean);
    scene.v_row(0, 41)[10] = std::byte{0x7F};
    require_hurt(clean, run_grouped_on_device(run, true, true), Dtype::fp16, attending_elements(scene, 0, 41, 10));
  }
}

TEST_CASE("grouped on the device: the first report, 480 NaN at its five dims, none with either fix, the same bytes") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({}, rng);  // 19 rows, one request, 2048 tokens, page 32, E4M3
  scene.select_first();
  GroupedRun run(scene);
  fill_null_block(scene, true);

  const std::vector<bool> bad = nan_places(scene, run_grouped_on_device(run, false, false).out.data());
  CHECK(count(bad) == 480);
  std::set<std::int32_t> dims;
  for (std::size_t i = 0; i < bad.size(); ++i)
    if (bad[i]) dims.insert(static_cast<std::int32_t>(i % 256));
  CHECK(dims == std::set<std::int32_t>(kReportDims.begin(), kReportDims.end()));
  run.run(false, false);
  CHECK((bad == nan_places(scene, run.attention.out)));

  const GroupedOutputs with_pad_fix = run_grouped_on_device(run, true, false);
  const GroupedOutputs with_zero = run_grouped_on_device(run, false, true);
  CHECK(count(nan_places(scene, with_pad_fix.out.data())) == 0);
  CHECK((with_pad_fix == with_zero));
  CHECK((with_zero == run_grouped_on_device(run, true, true)));
  require_right(scene, with_zero);
}

TEST_CASE("grouped on the device: without protection NaN stands exactly where the twin has it") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t length : {402, 1000, 2048}) {
    Scene scene({.lengths = {length, length - 1}, .rows = {13, 12}}, rng);  // tails are NaN
    scene.select(rng);
    GroupedRun run(scene);
    fill_null_block(scene, true);
    for (const bool with_pad_fix : {false, true}) {
      CAPTURE(length, with_pad_fix);
      const GroupedOutputs got = run_grouped_on_device(run, with_pad_fix, false);
      run.run(with_pad_fix, false);
      CHECK((nan_places(scene, got.out.data()) == nan_places(scene, run.attention.out)));
    }
    require_right(scene, run_grouped_on_device(run, false, true));
  }
}

TEST_CASE("grouped on the device: with finite padding all four combinations of the fixes give the same bytes") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({.lengths = {804, 400}, .rows = {13, 11}}, rng);
  scene.select(rng);
  GroupedRun run(scene);
  fill_null_block(scene, false);
  const GroupedOutputs want = run_grouped_on_device(run, true, true);
  for (const auto& [fix, zero] : {std::pair{false, false}, {false, true}, {true, false}})
    CHECK((run_grouped_on_device(run, fix, zero) == want));
}

TEST_CASE("grouped on the device: a NaN V element hurts the queries that attend it and nobody else by one bit") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Dtypes& dtypes : kDtypes) {
    Scene scene({.lengths = {900, 333}, .rows = {4, 12}, .kv_dtype = dtypes.kv, .q_dtype = dtypes.q}, rng);
    scene.select(rng);
    // Query 1 alone keeps block 19 (tokens 76..79) of request 0; its neighbours drop it.
    for (const std::int64_t row : {0, 2, 3})
      for (std::int64_t i = 0; i < kSelectedWidth; ++i) {
        std::int32_t& token = scene.selected[row * kSelectedWidth + i];
        if (token / 4 == 19) token = -1;
      }
    GroupedRun run(scene);
    const GroupedOutputs clean = run_grouped_on_device(run, true, true);
    const std::size_t bytes = dtype_bytes(dtypes.kv);
    CAPTURE(to_string(dtypes.kv), to_string(dtypes.q));
    std::memset(scene.v_row(0, 77) + 10 * bytes, 0xFF, bytes);
    Flags hurt = attending_elements(scene, 0, 77, 10);
    require_hurt(clean, run_grouped_on_device(run, true, true), dtypes.q, hurt);
    std::memset(scene.v_row(1, 200) + 201 * bytes, 0xFF, bytes);
    const Flags other = attending_elements(scene, 1, 200, 201);
    for (std::size_t i = 0; i < hurt.size(); ++i) hurt[i] = hurt[i] || other[i];
    require_hurt(clean, run_grouped_on_device(run, true, true), dtypes.q, hurt);
  }
}

TEST_CASE("grouped on the device: an infinite V element makes its queries infinite and nobody NaN") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({.lengths = {200, 333}, .rows = {4, 4}, .kv_dtype = Dtype::fp16}, rng);
  scene.select(rng);
  GroupedRun run(scene);
  const GroupedOutputs clean = run_grouped_on_device(run, true, true);
  store_from_float(scene.v_row(0, 77), Dtype::fp16, 10, -INFINITY);
  const GroupedOutputs got = run_grouped_on_device(run, true, true);
  const auto* before = reinterpret_cast<const std::uint16_t*>(clean.out.data());
  const auto* after = reinterpret_cast<const std::uint16_t*>(got.out.data());
  for (std::size_t i = 0; i < 8 * 6 * 256; ++i) {
    CAPTURE(i);
    REQUIRE(after[i] == (i / 256 / 6 < 4 && i % 256 == 10 ? 0xFC00u : before[i]));
  }
}

TEST_CASE("grouped on the device: a NaN in K or Q hurts its own queries at every dim and nobody else") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const bool zero : {true, false}) {
    Scene scene({.lengths = {200, 332}, .rows = {4, 4}}, rng);  // no tails, which would hurt without protection
    scene.select(rng);
    GroupedRun run(scene);
    std::memset(scene.pool.data, 0, scene.pool.page_bytes());
    const GroupedOutputs clean = run_grouped_on_device(run, true, zero);
    scene.k_row(0, 77)[10] = std::byte{0x7F};
    CAPTURE(zero);
    Flags hurt = attending_elements(scene, 0, 77, -1);
    require_hurt(clean, run_grouped_on_device(run, true, zero), Dtype::fp16, hurt);
    std::memset(scene.q + 5 * kGroupedHeads * 256 * 2, 0xFF, kGroupedHeads * 256 * 2);
    for (std::size_t i = 5 * 6 * 256; i < 6 * 6 * 256; ++i) hurt[i] = true;
    require_hurt(clean, run_grouped_on_device(run, true, zero), Dtype::fp16, hurt);
  }
}

TEST_CASE("grouped on the device: empty groups, empty queries and clipped groups come out as 0 and -inf") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({.lengths = {100}, .rows = {21}, .pad_rows = 2}, rng);  // bucket 23: the third group is clipped
  scene.select(rng);
  for (std::int32_t row = 8; row < 16; ++row) scene.query_pos[row] = -1;
  std::fill_n(scene.selected + 2 * kSelectedWidth, kSelectedWidth, -1);
  GroupedRun run(scene);
  const GroupedOutputs got = run_grouped_on_device(run, true, true);
  require_empty_rows(scene, got, 8, 23);
  require_empty_rows(scene, got, 2, 3);
  std::vector<OracleRow> rows = planned_rows(scene);
  rows.resize(8);
  CHECK(compare(scene, got.out.data(), got.lse.data(), rows).out <= 1.0);
}

TEST_CASE("grouped on the device: a leading tile whose every score is -inf weighs nothing and makes no NaN") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {400}, .rows = {8}, .kv_dtype = Dtype::fp16}, rng);
  scene.select(rng);
  for (std::int64_t at = 0; at < 8 * 6; ++at) store_from_float(scene.q, Dtype::fp16, at * 256, 1.0f);
  for (std::int64_t token = 0; token < 32; ++token) store_from_float(scene.k_row(0, token), Dtype::fp16, 0, -INFINITY);
  GroupedRun run(scene);
  require_right(scene, run_grouped_on_device(run, true, true));
}
