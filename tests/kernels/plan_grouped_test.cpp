#include "kernels/plan_grouped.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <set>

#include "kernels/pad_fix.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/plan_reference.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::vector<PlannedColumn> columns_of(const PlanGroupedArgs& plan, std::int32_t group) {
  std::vector<PlannedColumn> columns;
  for (std::int32_t i = 0; i < plan.tokens[group] / 4; ++i) {
    const std::int64_t at = std::int64_t{group} * kGroupedWidth + i;
    columns.push_back({plan.microblocks[at], plan.masks[at]});
  }
  return columns;
}

void require_plan(const Scene& scene, const PlanGroupedArgs& plan) {
  for (std::int32_t group = 0; group < plan.groups; ++group) {
    CAPTURE(group);
    const bool same = columns_of(plan, group) == reference_plan(scene, group);
    REQUIRE(same);
    for (std::int64_t i = plan.tokens[group] / 4; i < kGroupedWidth; ++i) {
      REQUIRE(plan.microblocks[group * kGroupedWidth + i] == 0);
      REQUIRE(plan.masks[group * kGroupedWidth + i] == 0u);
    }
  }
}

void clear_selection(Scene& scene) {
  std::fill_n(scene.selected, std::int64_t{scene.batch.bucket} * kSelectedWidth, -1);
}

/// Puts a complete block at place `at` of a row's selection.
void put_block(Scene& scene, std::int32_t row, std::int32_t at, std::int32_t block) {
  for (std::int32_t i = 0; i < 4; ++i) scene.selected[row * kSelectedWidth + 4 * at + i] = 4 * block + i;
}

/// Damages a selection in every way that a row can be wrong.
void damage(Scene& scene, Rng& rng) {
  const std::int32_t garbage[] = {-1, INT_MAX, INT_MIN, -7, 1 << 30, 5, 6};
  for (std::int32_t row = 0; row < *scene.rows; ++row) {
    std::int32_t* entries = scene.selected + std::int64_t{row} * kSelectedWidth;
    for (int i = 0; i < 20; ++i) entries[rng() % 200] = garbage[rng() % std::size(garbage)];
    for (int i = 0; i < 20; ++i) std::copy_n(entries + 4 * (rng() % 40), 4, entries + 4 * (rng() % 40));  // duplicates
    if (rng() % 4 == 0) std::reverse(entries, entries + 8);
  }
  for (int i = 0; i < 6; ++i) {
    const std::int32_t bad[] = {0, -1, INT_MAX, static_cast<std::int32_t>(scene.pool.pages)};
    const auto entries = static_cast<std::uint64_t>(scene.batch.requests * scene.batch.pages_per_request);
    scene.page_table[rng() % entries] = bad[i % 4];
  }
  scene.token_to_req[rng() % 4] = rng() % 2 == 0 ? -1 : scene.batch.requests;
  scene.query_pos[4] = -1;
  scene.query_pos[5] = INT64_MAX;
  scene.query_pos[6] = INT64_MIN;
}

SceneShape small(std::vector<std::int32_t> lengths, std::vector<std::int32_t> rows, std::int32_t pad_rows = 0) {
  return {.lengths = std::move(lengths), .rows = std::move(rows), .pad_rows = pad_rows, .dim = 8};
}

std::int64_t nan_of(const SceneShape& shape, bool one_position = false) {
  Rng rng(1);  // the geometry decides the count; the data does not
  Scene scene(shape, rng);
  if (one_position)
    for (std::int32_t row = 0; row < *scene.rows; ++row)
      scene.query_pos[row] = scene.seq_len[scene.token_to_req[row]] - 1;
  scene.select_first();
  GroupedRun run(scene);
  plan_grouped.host(run.plan);
  return expected_nan(run.plan, 5);
}

}  // namespace

TEST_CASE("plan_grouped: the category of every one-query mask is the M tiles of its six rows") {
  for (std::int32_t query = 0; query < 8; ++query) {
    CHECK(category_of_mask(1u << (4 * query)) == reference_category(1u << (4 * query)));
    CHECK(category_of_mask(8u << (4 * query)) == reference_category(8u << (4 * query)));
  }
  CHECK(category_of_mask(0) == 0u);
  CHECK(category_of_mask(~0u) == 7u);
}

TEST_CASE("plan_grouped: random selections give the plan of the reference, to the column") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  const std::int32_t page_size = 4 << rng() % 5;
  SceneShape shapes[] = {
      small({2048}, {19}),
      small({2600, 37, 900}, {10, 3, 14}, 5),
      small({50, 61, 72, 83, 94, 105, 16, 27}, {1, 1, 1, 1, 1, 1, 1, 1}),  // a group of eight requests
      small({9000}, {16}),
  };
  for (SceneShape& shape : shapes) {
    shape.page_size = page_size;
    Scene scene(shape, rng);
    scene.select(rng);
    GroupedRun run(scene);
    run_checked(plan_grouped, run.plan, scene.memory);
    require_plan(scene, run.plan);
  }
}

TEST_CASE("plan_grouped: duplicates, bad tokens, bad pages, bad requests and bad positions are skipped") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (int i = 0; i < 10; ++i) {
    Scene scene(small({700, 333, 90}, {9, 8, 7}, 8), rng);
    scene.select(rng);
    damage(scene, rng);
    GroupedRun run(scene);
    plan_grouped.host(run.plan);
    require_plan(scene, run.plan);
  }
}

TEST_CASE("plan_grouped: a group is planned only when its eight rows are real") {
  Rng rng(fresh_seed());
  for (const std::int32_t rows : {1, 7, 8, 9, 15, 16, 23, 24}) {
    Scene scene(small({400}, {rows}, 24 - rows), rng);
    scene.select(rng);
    GroupedRun run(scene);
    plan_grouped.host(run.plan);
    CAPTURE(rows);
    for (std::int32_t group = 0; group < 3; ++group) CHECK((run.plan.tokens[group] > 0) == (8 * group + 8 <= rows));
  }
}

TEST_CASE("plan_grouped: one block in each of the seven categories is padded with seven entries in each") {
  Rng rng(fresh_seed());
  Scene scene(small({400}, {8}), rng);
  clear_selection(scene);
  for (std::int32_t row = 0; row < 8; ++row) scene.query_pos[row] = 399;  // a multiple of 4 visible: no tail
  // Queries whose rows lie in M tiles 0 | 1 | 0,1 | 2 | 0,2 | 1,2 | 0,1,2.
  const std::vector<std::int32_t> queries[] = {{0}, {3}, {2}, {7}, {0, 7}, {5}, {0, 3, 7}};
  for (std::int32_t block = 0; block < 7; ++block)
    for (const std::int32_t query : queries[block]) put_block(scene, query, block, 10 + block);
  GroupedRun run(scene);
  plan_grouped.host(run.plan);
  require_plan(scene, run.plan);
  REQUIRE(run.plan.tokens[0] == 7 * 8 * 4);
  for (std::int32_t column = 0; column < 56; ++column) CHECK((run.plan.masks[column] == 0) == (column % 8 != 0));
  for (std::uint32_t category = 1; category <= 7; ++category)
    CHECK(category_of_mask(run.plan.masks[8 * (category - 1)]) == category);
}

TEST_CASE("plan_grouped: a row that selects nothing takes no part, and a group of such rows is empty") {
  Rng rng(fresh_seed());
  Scene scene(small({400}, {16}), rng);
  scene.select(rng);
  std::fill_n(scene.selected + 3 * kSelectedWidth, kSelectedWidth, -1);
  for (std::int32_t row = 8; row < 16; ++row) scene.query_pos[row] = -1;
  GroupedRun run(scene);
  plan_grouped.host(run.plan);
  require_plan(scene, run.plan);
  for (std::int32_t i = 0; i < kGroupedWidth; ++i) REQUIRE((run.plan.masks[i] & 0xF000u) == 0u);
  CHECK(run.plan.tokens[0] > 0);
  CHECK(run.plan.tokens[1] == 0);
}

TEST_CASE("plan_grouped: eight rows without a common block fill the width without overflow") {
  Rng rng(fresh_seed());
  SceneShape shape = small({}, {});
  for (int i = 0; i < 8; ++i) {
    shape.lengths.push_back(2051);
    shape.rows.push_back(1);
  }
  Scene scene(shape, rng);
  scene.select(rng);
  GroupedRun run(scene);
  plan_grouped.host(run.plan);
  require_plan(scene, run.plan);
  // Categories of one query each: {0}: q0, q1 = 1026; {0,1}: 513; {1}: 1026; {1,2}: 513; {2}: 1026; each to a multiple
  // of 8.
  CHECK(run.plan.tokens[0] == 4 * (1032 + 520 + 1032 + 520 + 1032));
}

TEST_CASE("plan_grouped: the NaN counts of the first report follow from the plan") {
  CHECK(nan_of(small({2048}, {19})) == 480);
  CHECK(nan_of(small({400}, {19})) == 400);
  CHECK(nan_of(small({1000}, {19})) == 400);
  CHECK(nan_of(small({2048, 2048, 2048}, {8, 8, 8})) == 720);
  for (const std::int32_t context : {1024, 2048, 8192}) CHECK(nan_of(small({context}, {19}), true) == 0);
}

TEST_CASE("plan_grouped: 19 requests at one position need no padding") {
  SceneShape shape = small({}, {});
  for (int i = 0; i < 19; ++i) {
    shape.lengths.push_back(1024);
    shape.rows.push_back(1);
  }
  CHECK(nan_of(shape, true) == 0);
}

TEST_CASE("plan_grouped: over every context from 19 to 2999, 480 NaN in 2469, 400 in 384 and 320 in 128") {
  std::map<std::int64_t, int> contexts;
  Rng rng(1);
  Scene scene(small({3000}, {19}), rng);
  GroupedRun run(scene);
  for (std::int32_t context = 19; context <= 2999; ++context) {
    scene.seq_len[0] = context;
    for (std::int32_t row = 0; row < 19; ++row) scene.query_pos[row] = context - 19 + row;
    scene.select_first();
    plan_grouped.host(run.plan);
    ++contexts[expected_nan(run.plan, 5)];
  }
  CHECK(contexts == std::map<std::int64_t, int>{{480, 2469}, {400, 384}, {320, 128}});
}

TEST_CASE("pad_fix: every mask-0 entry names the group's first microblock, others stay, and nothing else is touched") {
  Rng rng(fresh_seed());
  Scene scene(small({777, 52}, {12, 9}, 3), rng);
  scene.select(rng);
  GroupedRun run(scene);
  plan_grouped.host(run.plan);
  const std::vector<std::int32_t> before(run.plan.microblocks, run.plan.microblocks + 3 * kGroupedWidth);
  run_checked(pad_fix, run.fix, scene.memory);
  for (std::int32_t group = 0; group < 3; ++group) {
    const std::int32_t first = before[static_cast<std::size_t>(group) * kGroupedWidth];
    CHECK((first == 0) == (group == 2));  // the third group has five real rows and is not planned
    for (std::int32_t i = 0; i < kGroupedWidth; ++i) {
      const std::int32_t at = group * kGroupedWidth + i;
      const std::int32_t want = run.plan.masks[at] == 0 ? first : before[static_cast<std::size_t>(at)];
      REQUIRE(run.plan.microblocks[at] == want);
    }
  }
  const Contract contract = pad_fix.contract(run.fix);
  REQUIRE(contract.gives.size() == 1);
  CHECK(contract.gives[0].fact == Fact::pad_fixed);
  CHECK(contract.gives[0].base == reinterpret_cast<Address>(run.fix.microblocks));
  CHECK(contract.gives[0].range == ByteRange{0, 3u * kGroupedWidth * 4u});
}
