#include "kernels/plan_grouped.hpp"

#include <algorithm>
#include <climits>
#include <numeric>

#include "kernels/pad_fix.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/plan_reference.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// The reference's columns as the plan's options want them.
std::vector<PlannedColumn> wanted_columns(const Scene& scene, const PlanGroupedArgs& plan, std::int32_t group) {
  std::vector<PlannedColumn> columns = reference_plan(scene, group);
  for (PlannedColumn& column : columns)
    if (plan.fix_padding && column.mask == 0) column.microblock = columns[0].microblock;
  return columns;
}

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
    const std::vector<PlannedColumn> wanted = wanted_columns(scene, plan, group);
    const bool same = columns_of(plan, group) == wanted;
    REQUIRE(same);
    const std::int32_t unused = plan.fix_padding && !wanted.empty() ? wanted[0].microblock : 0;
    for (std::int64_t i = plan.tokens[group] / 4; i < kGroupedWidth; ++i) {
      REQUIRE(plan.microblocks[group * kGroupedWidth + i] == unused);
      REQUIRE(plan.masks[group * kGroupedWidth + i] == 0u);
    }
  }
}

/// Two plans over poisoned outputs, each of which keeps its contract: the second, with fix_padding, is what pad_fix
/// makes of the first, to the bit. Leaves the second.
void plan_with_and_without_padding(Scene& scene, GroupedRun& run) {
  run.plan.fix_padding = false;
  fill_writes(plan_grouped.contract(run.plan), 0xFF);
  run_checked(plan_grouped, run.plan, scene.memory);
  pad_fix.host(run.fix);
  const Memory::Photo fixed = scene.memory.photo();
  run.plan.fix_padding = true;
  fill_writes(plan_grouped.contract(run.plan), 0xFF);
  run_checked(plan_grouped, run.plan, scene.memory);
  const bool same = scene.memory.photo() == fixed;
  REQUIRE(same);
}

/// Both, by the reference too.
void require_plans(Scene& scene, GroupedRun& run) {
  plan_with_and_without_padding(scene, run);
  require_plan(scene, run.plan);
  run.plan.fix_padding = false;
  plan_grouped.host(run.plan);
  require_plan(scene, run.plan);
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
    require_plans(scene, run);
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
    require_plans(scene, run);
  }
}

TEST_CASE("plan_grouped: a group is planned only when its eight rows are real") {
  Rng rng(fresh_seed());
  for (const std::int32_t rows : {1, 7, 8, 9, 15, 16, 23, 24}) {
    Scene scene(small({400}, {rows}, 24 - rows), rng);
    scene.select(rng);
    GroupedRun run(scene);
    CAPTURE(rows);
    require_plans(scene, run);
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
  require_plans(scene, run);
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
  require_plans(scene, run);
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
  require_plans(scene, run);
  // Categories of one query each: {0}: q0, q1 = 1026; {0,1}: 513; {1}: 1026; {1,2}: 513; {2}: 1026; each to a multiple
  // of 8.
  CHECK(run.plan.tokens[0] == 4 * (1032 + 520 + 1032 + 520 + 1032));
}

TEST_CASE("plan_grouped: broken blocks alone are planned with fixed padding too and cut at the width") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  // Rows of one token each, of a few, and eight rows of 2,048 microblocks that share nothing: more than the width.
  for (const std::int32_t length : {4, 60, 9000}) {
    CAPTURE(length);
    Scene scene(small(std::vector<std::int32_t>(8, length), std::vector<std::int32_t>(8, 1)), rng);
    scatter(scene, rng);
    GroupedRun run(scene);
    plan_with_and_without_padding(scene, run);
    CHECK((run.plan.tokens[0] == 4 * kGroupedWidth) == (length == 9000));
    CHECK(std::count(run.plan.microblocks, run.plan.microblocks + kGroupedWidth, 0) == 0);
  }
}

TEST_CASE("plan_grouped: with fix_padding no entry of a planned group is 0 and a group without entries holds 0 alone") {
  Rng rng(fresh_seed());
  Scene scene(small({777, 52}, {12, 12}, 3), rng);
  scene.select(rng);
  for (std::int32_t row = 8; row < 16; ++row) scene.query_pos[row] = -1;
  GroupedRun run(scene);
  plan_with_and_without_padding(scene, run);
  const auto zeros = [&](std::int32_t group) {
    const std::int32_t* from = run.plan.microblocks + group * kGroupedWidth;
    return std::count(from, from + kGroupedWidth, 0);
  };
  CHECK(zeros(0) == 0);
  CHECK(zeros(1) == kGroupedWidth);  // eight real rows that see nothing
  CHECK(zeros(2) == 0);
  CHECK(zeros(3) == kGroupedWidth);  // no real row
  CHECK(run.plan.tokens[1] == 0);
  CHECK(run.plan.tokens[3] == 0);
}

TEST_CASE("plan_grouped: with fix_padding alone the contract gives pad_fixed over all microblocks") {
  Rng rng(fresh_seed());
  Scene scene(small({64}, {9}), rng);
  GroupedRun run(scene);
  CHECK(plan_grouped.contract(run.plan).gives.empty());
  run.plan.fix_padding = true;
  const Contract contract = plan_grouped.contract(run.plan);
  REQUIRE(contract.gives.size() == 1);
  CHECK(contract.gives[0].fact == Fact::pad_fixed);
  CHECK(contract.gives[0].base == reinterpret_cast<Address>(run.plan.microblocks));
  CHECK(contract.gives[0].range == ByteRange{0, 2u * kGroupedWidth * 4u});
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
