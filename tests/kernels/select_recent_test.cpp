#include "kernels/select_recent.hpp"

#include <algorithm>
#include <climits>
#include <functional>
#include <numeric>

#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// What stays of 0 .. count - 1 when the ones after the first `sinks` go, oldest first, until `most` are left.
std::vector<std::int64_t> kept_of(std::int64_t count, std::int64_t most, std::int64_t sinks) {
  std::vector<std::int64_t> kept(static_cast<std::size_t>(count));
  std::iota(kept.begin(), kept.end(), 0);
  while (static_cast<std::int64_t>(kept.size()) > most) kept.erase(kept.begin() + sinks);
  return kept;
}

SceneShape some_requests(std::int32_t page_size) {
  return {.lengths = {2600, 37, 3, 2051}, .rows = {9, 14, 3, 1}, .pad_rows = 4, .page_size = page_size, .dim = 8};
}

struct Blocks {
  Blocks(const Scene& scene, std::int32_t sinks, std::int32_t blocks = 512)
      : args{.batch = scene.batch, .blocks = blocks, .sinks = sinks, .selected = scene.selected} {}

  void require(const Scene& scene) const {
    for (std::int32_t row = 0; row < scene.batch.bucket; ++row) {
      CAPTURE(row, args.sinks);
      std::vector<std::int32_t> want;
      const std::int64_t seen = row < *scene.rows ? scene.query_pos[row] + 1 : 0;
      for (const std::int64_t block : kept_of(seen / 4, args.blocks, args.sinks))
        for (std::int32_t i = 0; i < 4; ++i) want.push_back(static_cast<std::int32_t>(4 * block) + i);
      want.resize(static_cast<std::size_t>(4 * std::min<std::int64_t>(seen / 4, 512)), -1);  // the tail stands behind
      for (std::int64_t token = seen - seen % 4; token < seen; ++token)
        want.push_back(static_cast<std::int32_t>(token));
      want.resize(2051, -1);
      const std::int32_t* got = args.selected + std::int64_t{row} * 2051;
      REQUIRE(std::equal(want.begin(), want.end(), got));
    }
  }
  SelectRecentArgs args;
};

struct Slots {
  Slots(Scene& scene, std::int32_t sinks, std::int32_t topk)
      : args{.batch = scene.batch,
             .pool = {.pages = scene.pool.pages, .page_size = scene.pool.page_size, .record = MlaRecord::bf16},
             .sinks = sinks,
             .topk = topk,
             .indices = scene.memory.take<std::int32_t>(std::int64_t{scene.batch.bucket} * topk),
             .lengths = scene.memory.take<std::int32_t>(scene.batch.bucket)} {}

  void require(const Scene& scene) const {
    const std::int64_t size = scene.pool.page_size;
    for (std::int32_t row = 0; row < scene.batch.bucket; ++row) {
      CAPTURE(row, args.sinks, args.topk);
      std::vector<std::int32_t> want;
      const std::int64_t seen = row < *scene.rows ? scene.query_pos[row] + 1 : 0;
      for (const std::int64_t token : kept_of(seen, args.topk, args.sinks)) {
        const std::int64_t entry = std::int64_t{scene.token_to_req[row]} * scene.batch.pages_per_request + token / size;
        want.push_back(static_cast<std::int32_t>(scene.page_table[entry] * size + token % size));
      }
      REQUIRE(args.lengths[row] == static_cast<std::int32_t>(want.size()));
      want.resize(static_cast<std::size_t>(args.topk), -1);
      REQUIRE(std::equal(want.begin(), want.end(), args.indices + std::int64_t{row} * args.topk));
    }
  }
  SelectSlotsArgs args;
};

void block_cases(const std::function<void(const SelectRecentArgs&, Memory&)>& run) {
  Rng rng(fresh_seed());
  for (const std::int32_t most : {512, 100, 1})
    for (const std::int32_t sinks : {0, 1, std::min(most, 7), most - 1, most}) {
      Scene scene(some_requests(32), rng);
      const Blocks blocks(scene, sinks, most);
      run(blocks.args, scene.memory);
      blocks.require(scene);
    }
}

void slot_cases(const std::function<void(const SelectSlotsArgs&, Memory&)>& run) {
  Rng rng(fresh_seed());
  for (const std::int32_t page_size : {4, 64, 256})
    for (const std::int32_t topk : {1, 64, 192, 2048})
      for (const std::int32_t sinks : {0, 1, std::min(topk, 5), topk}) {
        Scene scene(some_requests(page_size), rng);
        const Slots slots(scene, sinks, topk);
        run(slots.args, scene.memory);
        slots.require(scene);
      }
}

}  // namespace

TEST_CASE("select_recent: each row keeps its sinks and its latest blocks and its causal tail") {
  block_cases([](const SelectRecentArgs& args, Memory& memory) { run_checked(select_recent, args, memory); });
}

TEST_CASE("select_recent: the cases see one sink too many", "[!shouldfail]") {
  block_cases([](SelectRecentArgs args, Memory&) {
    args.sinks = std::min(args.sinks + 1, args.blocks);
    select_recent.host(args);
  });
}

TEST_CASE("select_slots: each row keeps the slots of its sinks and of its latest tokens") {
  slot_cases([](const SelectSlotsArgs& args, Memory& memory) { run_checked(select_slots, args, memory); });
}

TEST_CASE("select_slots: the cases see a row that looks past its own position", "[!shouldfail]") {
  slot_cases([](SelectSlotsArgs args, Memory& memory) {
    auto* later = memory.take<std::int64_t>(args.batch.bucket);
    for (std::int32_t row = 0; row < args.batch.bucket; ++row) later[row] = args.batch.query_pos[row] + 1;
    args.batch.query_pos = later;
    select_slots.host(args);
  });
}

TEST_CASE("select_recent: both planners take every selected block and the tail") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {2600, 403}, .rows = {16, 9}, .pad_rows = 3, .dim = 8}, rng);
  const Blocks blocks(scene, 4, 90);
  select_recent.host(blocks.args);
  XqaRun xqa(scene, {});
  plan_xqa.host(xqa.plan);
  for (std::int32_t row = 0; row < 25; ++row) {
    const std::int64_t seen = scene.query_pos[row] + 1;
    CHECK(xqa.plan.lengths[row] == 4 * std::min<std::int64_t>(seen / 4, 90) + seen % 4);
  }
  GroupedRun grouped(scene);
  plan_grouped.host(grouped.plan);
  for (std::int32_t group = 0; group < 3; ++group) {
    std::uint32_t tokens = 0;  // attended by the group's first query
    for (std::int32_t i = 0; i < kGroupedWidth; ++i) {
      const std::uint32_t mask = grouped.plan.masks[group * kGroupedWidth + i] & 0xFu;
      for (std::uint32_t bit = 1; bit < 16; bit *= 2) tokens += (mask & bit) != 0;
    }
    CHECK(tokens == static_cast<std::uint32_t>(xqa.plan.lengths[8 * group]));
  }
}

TEST_CASE("select_recent and select_slots: a row without a request selects nothing and a bad page is no slot") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {40, 30}, .rows = {8, 2}, .page_size = 4, .dim = 8}, rng);
  const Blocks blocks(scene, 2);
  const Slots slots(scene, 2, 64);
  for (const std::int32_t request : {-1, 2, INT_MAX}) {
    scene.token_to_req[3] = request;
    run_checked(select_recent, blocks.args, scene.memory);
    run_checked(select_slots, slots.args, scene.memory);
    CHECK(std::count(scene.selected + 3 * 2051, scene.selected + 4 * 2051, -1) == 2051);
    CHECK(std::count(slots.args.indices + 3 * 64, slots.args.indices + 4 * 64, -1) == 64);
    CHECK(slots.args.lengths[3] == 0);
  }
  const std::int32_t page = scene.page_table[2];
  for (const std::int32_t bad : {0, -1, INT_MIN, INT_MAX, static_cast<std::int32_t>(scene.pool.pages)}) {
    scene.page_table[2] = bad;  // tokens 8..11
    run_checked(select_slots, slots.args, scene.memory);
    CHECK(slots.args.lengths[0] == 33);
    CHECK(std::count(slots.args.indices, slots.args.indices + 33, -1) == 4);
    CHECK(std::count(slots.args.indices + 8, slots.args.indices + 12, -1) == 4);
  }
  scene.page_table[2] = page;
  scene.query_pos[0] = INT64_MAX;  // a row sees no more than its request has
  run_checked(select_slots, slots.args, scene.memory);
  CHECK(slots.args.lengths[0] == 40);
}
