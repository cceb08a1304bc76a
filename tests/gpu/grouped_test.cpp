// grouped_attention on the device: the plan by the twins, the kernels on a copy of
// the same bytes, numbers against the fp64 oracle, and every run twice, launched and
// replayed as a graph over other garbage. What NaN does is grouped_faults_test.cpp's.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/gpu/grouped_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

void require_empty_rows(const Scene& scene, const GroupedOutputs& got, std::int32_t first, std::int32_t last) {
  for (std::int32_t at = first * 6; at < last * 6; ++at) {
    CAPTURE(at);
    REQUIRE(got.lse[static_cast<std::size_t>(at)] == -std::numeric_limits<float>::infinity());
    for (std::int64_t d = 0; d < scene.pool.dim; ++d)
      REQUIRE(load_as_float(got.out.data(), scene.shape.q_dtype, std::int64_t{at} * scene.pool.dim + d) == 0.0f);
  }
}

}  // namespace

TEST_CASE("grouped on the device: contexts, rows, pages and dtypes agree with the fp64 oracle") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  const std::int32_t pages[] = {4, 16, 32, 64};
  int turn = 0;
  for (const std::int32_t context : {19, 20, 31, 400, 804, 2048, 2051, 8192}) {
    for (const std::int32_t rows : {16, 19, 24, 49}) {
      const Dtypes& dtypes = kGroupedDtypes[turn % 4];
      const std::int32_t page = pages[(turn / 4 + turn) % 4];  // over eight contexts every page meets every dtype
      ++turn;
      Scene scene({.lengths = {context}, .rows = {rows}, .page_size = page, .kv_dtype = dtypes.kv, .q_dtype = dtypes.q},
                  rng);
      scene.select(rng);
      GroupedRun run(scene);
      CAPTURE(context, rows, page, to_string(dtypes.kv), to_string(dtypes.q));
      const GroupedOutputs got = run_grouped_on_device(kernel, run, true, true);
      require_right(scene, got);
      require_empty_rows(scene, got, rows / 8 * 8, rows);
    }
  }
}

TEST_CASE("grouped on the device: requests that share a group agree with the oracle, in every dtype") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Dtypes& dtypes : kGroupedDtypes) {
    Scene scene({.lengths = {2600, 301, 90, 7}, .rows = {9, 4, 8, 3}, .kv_dtype = dtypes.kv, .q_dtype = dtypes.q}, rng);
    scene.select(rng);
    GroupedRun run(scene);
    CAPTURE(to_string(dtypes.kv), to_string(dtypes.q));
    require_right(scene, run_grouped_on_device(kernel, run, true, true));
  }
}

TEST_CASE("grouped on the device: from one to sixteen blocks a group agree with the oracle") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t rows : {1040, 520, 264, 256, 128, 40}) {
    Scene scene({.lengths = {rows + 50}, .rows = {rows}}, rng);
    scene.select(rng);
    GroupedRun run(scene);
    CAPTURE(rows);
    const GroupedOutputs clean = run_grouped_on_device(kernel, run, true, true);
    require_right(scene, clean);
    scene.v_row(0, 41)[10] = std::byte{0x7F};
    require_hurt(clean, run_grouped_on_device(kernel, run, true, true), Dtype::fp16,
                 attending_elements(scene, 0, 41, 10));
  }
}

TEST_CASE("grouped on the device: empty groups, empty queries and clipped groups come out as 0 and -inf") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  Scene scene({.lengths = {100}, .rows = {21}, .pad_rows = 2}, rng);  // bucket 23: the third group is clipped
  scene.select(rng);
  for (std::int32_t row = 8; row < 16; ++row) scene.query_pos[row] = -1;
  std::fill_n(scene.selected + 2 * kSelectedWidth, kSelectedWidth, -1);
  GroupedRun run(scene);
  const GroupedOutputs got = run_grouped_on_device(kernel, run, true, true);
  require_empty_rows(scene, got, 8, 23);
  require_empty_rows(scene, got, 2, 3);
  std::vector<OracleRow> rows = planned_rows(scene);
  rows.resize(8);
  CHECK(compare(scene, got.out.data(), got.lse.data(), rows).out <= 1.0);
}

TEST_CASE("grouped on the device: a leading tile whose every score is -inf weighs nothing and makes no NaN") {
  const GroupedKernel kernel = GENERATE(from_range(grouped_kernels()));
  INFO("kernel " << kernel.name);
  Rng rng(fresh_seed());
  Scene scene({.lengths = {400}, .rows = {8}, .kv_dtype = Dtype::fp16}, rng);
  scene.select(rng);
  for (std::int64_t at = 0; at < 8 * 6; ++at) store_from_float(scene.q, Dtype::fp16, at * 256, 1.0f);
  for (std::int64_t token = 0; token < 32; ++token) store_from_float(scene.k_row(0, token), Dtype::fp16, 0, -INFINITY);
  GroupedRun run(scene);
  require_right(scene, run_grouped_on_device(kernel, run, true, true));
}
