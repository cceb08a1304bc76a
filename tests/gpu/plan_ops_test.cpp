// The plan ops on the device: every element that the twin writes, to the bit, on
// well-formed selections, on damaged ones and on floods of broken blocks.
#include <algorithm>
#include <climits>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/gpu/device_run.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

SceneShape small(std::vector<std::int32_t> lengths, std::vector<std::int32_t> rows, std::int32_t pad_rows = 0) {
  return {.lengths = std::move(lengths), .rows = std::move(rows), .pad_rows = pad_rows, .dim = 8};
}

SceneShape eight_requests(std::int32_t length) {
  return small(std::vector<std::int32_t>(8, length), std::vector<std::int32_t>(8, 1));
}

/// Shapes from one short request to eight that share nothing, and to more than a warp has lanes, with any page size.
std::vector<SceneShape> shapes(Rng& rng) {
  std::vector<std::int32_t> forty(40);
  for (std::int32_t& length : forty) length = 1 + static_cast<std::int32_t>(rng() % 900);
  std::vector<SceneShape> all = {small({2048}, {19}),
                                 small({2600, 37, 900}, {10, 3, 14}, 5),
                                 small({50, 61, 72, 83, 94, 105, 16, 27}, {1, 1, 1, 1, 1, 1, 1, 1}),
                                 small({9000}, {16}),
                                 small({3}, {3}, 14),
                                 eight_requests(2051),
                                 eight_requests(5000),
                                 small(forty, std::vector<std::int32_t>(40, 1))};
  for (SceneShape& shape : all)
    shape.page_size = rng() % 2 == 0 ? 4 << rng() % 5 : 4 * (1 + static_cast<std::int32_t>(rng() % 40));
  return all;
}

/// Bad tokens, duplicate blocks, blocks that are not whole, bad pages, a page mapped twice, bad requests and
/// positions.
void damage(Scene& scene, Rng& rng) {
  const std::int32_t garbage[] = {-1, INT_MAX, INT_MIN, -7, 1 << 30, 5, 6};
  const std::int32_t bad_pages[] = {0, -1, INT_MAX, static_cast<std::int32_t>(scene.pool.pages), scene.page_table[0]};
  for (std::int32_t row = 0; row < *scene.rows; ++row) {
    std::int32_t* entries = scene.selected + std::int64_t{row} * kSelectedWidth;
    for (int i = 0; i < 20; ++i) entries[rng() % 200] = garbage[rng() % std::size(garbage)];
    for (int i = 0; i < 20; ++i) std::copy_n(entries + 4 * (rng() % 40), 4, entries + 4 * (rng() % 40));
    if (rng() % 4 == 0) std::reverse(entries, entries + 8);
  }
  const auto entries = static_cast<std::uint64_t>(scene.batch.requests * scene.batch.pages_per_request);
  for (int i = 0; i < 10; ++i) scene.page_table[rng() % entries] = bad_pages[i % 5];
  const auto rows = static_cast<std::uint64_t>(*scene.rows);
  scene.token_to_req[rng() % rows] = rng() % 2 == 0 ? -1 : scene.batch.requests;
  const std::int64_t bad_positions[] = {-1, INT64_MAX, INT64_MIN};
  for (const std::int64_t position : bad_positions) scene.query_pos[rng() % rows] = position;
}

/// Also that the kernel's plan with fix_padding is what pad_fix makes of the one without, both on the device.
void require_grouped_plan(Scene& scene) {
  GroupedRun run(scene);
  require_as_twin(plan_grouped, run.plan, scene.memory);
  require_as_twin(pad_fix, run.fix, scene.memory);
  const Memory::Photo fixed = scene.memory.photo();
  run.plan.fix_padding = true;
  require_as_twin(plan_grouped, run.plan, scene.memory);
  require_same(scene.memory.photo(), fixed);
}

void require_xqa_plan(Scene& scene, bool dense, std::int32_t group_rows) {
  CAPTURE(dense, group_rows);
  XqaRun run(scene, {.dense = dense, .group_rows = group_rows, .partition_tokens = 96});
  require_as_twin(plan_xqa, run.plan, scene.memory);
  run.plan.counters_zeroed -= 3;
  require_as_twin(plan_xqa, run.plan, scene.memory);
  run.plan.counters_zeroed = 0;
  run.plan.active_partitions = nullptr;
  require_as_twin(plan_xqa, run.plan, scene.memory);
  XqaRun layers(scene, {.dense = dense, .group_rows = group_rows, .partition_tokens = 96, .counter_sets = 3});
  require_as_twin(plan_xqa, layers.plan, scene.memory);
}

}  // namespace

TEST_CASE("plan_grouped and pad_fix on the device: random selections give the twin's plan, to the element") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const SceneShape& shape : shapes(rng)) {
    Scene scene(shape, rng);
    scene.select(rng);
    require_grouped_plan(scene);
  }
}

TEST_CASE("plan_grouped on the device: blocks that stand close together in a long context give the twin's plan") {
  Rng rng(fresh_seed());
  // Keys of 14 and 15 bits of token block: a bucket of the kernel's order holds 256 or 512 of them, here all taken.
  for (const std::int32_t length : {40'000, 131'072}) {
    CAPTURE(length);
    Scene scene(small({length}, {16}), rng);
    scene.select_first();
    require_grouped_plan(scene);
  }
}

TEST_CASE("plan_grouped on the device: more groups than multiprocessors give the twin's plan") {
  Rng rng(fresh_seed());
  Scene scene(small({1500}, {1400}), rng);  // 175 groups: blocks of fewer threads, several turns each
  scene.select(rng);
  require_grouped_plan(scene);
}

TEST_CASE("plan_grouped and pad_fix on the device: damaged selections and tables give the twin's plan") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (int i = 0; i < 6; ++i) {
    Scene scene(small({700, 333, 2090}, {9, 8, 7}, 8), rng);
    scene.select(rng);
    damage(scene, rng);
    require_grouped_plan(scene);
  }
}

TEST_CASE("plan_grouped on the device: a union past the table's room gives the twin's plan, cut at the width") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  // Some 4,400 and 5,600 microblocks fit the table but neither the order nor the width, 10,800 nothing.
  for (const std::int32_t length : {2200, 2800, 9000}) {
    CAPTURE(length);
    Scene scene(eight_requests(length), rng);
    scatter(scene, rng);
    require_grouped_plan(scene);
  }
  Scene scene(small({9000, 2051}, {12, 4}), rng);
  scatter(scene, rng);
  damage(scene, rng);
  require_grouped_plan(scene);
}

TEST_CASE("plan_grouped on the device: a group is planned only when its eight rows are real, at every replay") {
  Rng rng(fresh_seed());
  Scene scene(small({400}, {24}), rng);
  scene.select(rng);
  GroupedRun run(scene);
  for (const bool fix_padding : {false, true}) {
    run.plan.fix_padding = fix_padding;
    DeviceCopy copy(scene.memory);
    const PlanGroupedArgs args = on_device(copy, run.plan);
    Replay replay([&](void* stream) { plan_grouped.launch(args, stream); });
    for (const std::int32_t rows : {24, 7, 8, 15, 0, 16, -1, 1000}) {
      CAPTURE(fix_padding, rows);
      *scene.rows = rows;
      copy.upload(scene.memory.photo());
      plan_grouped.host(run.plan);
      replay.run();
      require_same(copy.download(), scene.memory.photo());
    }
    *scene.rows = 24;
  }
}

TEST_CASE("plan_grouped on the device: rows that see nothing leave their group empty with fixed padding too") {
  Rng rng(fresh_seed());
  Scene scene(small({777, 52}, {12, 12}, 3), rng);
  scene.select(rng);
  for (std::int32_t row = 8; row < 16; ++row) scene.query_pos[row] = -1;
  require_grouped_plan(scene);
  GroupedRun run(scene);
  run.plan.fix_padding = true;
  plan_grouped.host(run.plan);
  CHECK(run.plan.tokens[1] == 0);
}

TEST_CASE("pad_fix on the device: widths that no vector divides, and no group at all") {
  Rng rng(fresh_seed());
  for (const std::int64_t width : {1, 3, 255, 1022, 1023, 4160, 5000}) {
    CAPTURE(width);
    Memory memory;
    PadFixArgs args{.microblocks = memory.take<std::int32_t>(5 * width), .groups = 5, .width = width};
    auto* masks = memory.take<std::uint32_t>(5 * width);
    args.masks = masks;
    for (std::int64_t i = 0; i < 5 * width; ++i) {
      args.microblocks[i] = static_cast<std::int32_t>(rng() % 1000);
      masks[i] = rng() % 3 == 0 || i % 64 < 16 ? 0 : static_cast<std::uint32_t>(rng());
    }
    require_as_twin(pad_fix, args, memory);
    args.groups = 0;
    require_as_twin(pad_fix, args, memory);
  }
}

TEST_CASE("plan_xqa on the device: random and damaged selections give the twin's keys, dense and sparse") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const SceneShape& shape : shapes(rng)) {
    for (const bool damaged : {false, true}) {
      Scene scene(shape, rng);
      scene.select(rng);
      if (damaged && shape.lengths[0] > 800) damage(scene, rng);
      CAPTURE(damaged, shape.lengths[0]);
      for (const bool dense : {false, true})
        for (const std::int32_t group_rows : {0, kGroupRows}) require_xqa_plan(scene, dense, group_rows);
    }
  }
}

TEST_CASE("plan_xqa on the device: more slots than a block has threads") {
  Rng rng(fresh_seed());
  Scene scene(small({40, 700}, {40, 500}, 100), rng);
  scene.select(rng);
  for (const bool dense : {false, true}) require_xqa_plan(scene, dense, 0);
}

TEST_CASE("plan_xqa on the device: the real rows decide at every replay which row a slot serves") {
  Rng rng(fresh_seed());
  Scene scene(small({400}, {24}), rng);
  scene.select(rng);
  for (const bool dense : {false, true}) {
    XqaRun run(scene, {.dense = dense, .group_rows = kGroupRows});
    DeviceCopy copy(scene.memory);
    const PlanXqaArgs args = on_device(copy, run.plan);
    Replay replay([&](void* stream) { plan_xqa.launch(args, stream); });
    for (const std::int32_t rows : {24, 7, 8, 15, 0, 16, -1, 1000}) {
      CAPTURE(dense, rows);
      *scene.rows = rows;
      copy.upload(scene.memory.photo());
      plan_xqa.host(run.plan);
      replay.run();
      require_same(copy.download(), scene.memory.photo());
    }
  }
}
