// The XQA route on poisoned memory, with named faults, and held to its contracts.
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstring>

#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/xqa_route.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("xqa: the outputs do not depend on what partials, tails, pad rows or unused pages hold") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const bool dense : {false, true}) {
    Scene scene(one_row_each({1, 258, 2051, 700}, 16, 2), rng);
    scene.select(rng);
    XqaRun run(scene, {.dense = dense});
    run.run();
    const auto* out = static_cast<const std::uint16_t*>(run.decode.out);
    const std::vector<std::uint16_t> first(out, out + 6 * 6 * 256);
    for (const int poison : {0x7F, 0x00, 0x7C}) {
      std::memset(run.decode.partials, poison, 6u * 6 * 9 * 256 * 4);
      std::memset(run.decode.partial_lse, poison, 6u * 6 * 9 * 4);
      std::memset(scene.pool.data, poison, scene.pool.page_bytes());
      for (std::int32_t i = 2; i < scene.batch.pages_per_request; ++i) scene.page_table[i] = poison == 0 ? 1 : INT_MAX;
      run.run();
      CHECK(std::equal(first.begin(), first.end(), out));
    }
  }
}

TEST_CASE("xqa: counters that were not zeroed turn the row NaN instead of plausible") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({300, 0, 2051}, 16), rng);
  XqaRun run(scene, {.dense = true});
  run.plan.counters_zeroed = 6;  // the named fault: only the first slot's counters are zeroed
  std::fill_n(run.plan.counters, 18, 2);
  run.run();
  require_right(scene, run, {scene.oracle_row(0, scene.visible_tokens(0))});
  require_empty_row(scene, run, 1);  // no split, so no counter is asked
  for (std::int64_t i = 12 * 256; i < 18 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
  for (int i = 12; i < 18; ++i) CHECK(std::isnan(run.decode.lse[i]));
}

TEST_CASE("xqa: a second decode without a new plan counts twice and is caught") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({300}, 16), rng);
  XqaRun run(scene, {.dense = true});
  run.run();
  xqa_decode.host(run.decode);
  for (std::int64_t i = 0; i < 6 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
}

TEST_CASE("xqa: a length that no plan of this launch gives is NaN and neither reads nor writes a byte outside") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({1000, 200}, 16), rng);
  scene.select(rng);
  for (const bool dense : {true, false}) {
    // The table has 65 pages of 16 tokens a request; a slot has 513 keys of 4.
    for (const std::int32_t length : {dense ? 1041 : 2053, INT_MAX, 0x7F7F7F7F, -1, INT_MIN}) {
      CAPTURE(dense, length);
      XqaRun run(scene, {.dense = dense, .partitions = 3});
      plan_xqa.host(run.plan);
      run.plan.lengths[0] = length;
      const WriteVerdict verdict = check_writes(xqa_decode, run.decode, scene.memory);
      CHECK(verdict.stray == 0);
      for (std::int64_t i = 0; i < 6 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
      for (int head = 0; head < 6; ++head) CHECK(std::isnan(run.decode.lse[head]));
      require_right(scene, run, {scene.oracle_row(1, dense ? scene.visible_tokens(1) : scene.selected_tokens(1))});
    }
  }
}

TEST_CASE("xqa: a NaN V row that a row attends stays visible, and the other rows do not see it") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({300, 5}, 16), rng);
  // Token 299 lies at place 11 of its tile; row 1 uses five places of the next one.
  scene.v_row(0, 299)[31] = std::byte{0x7F};
  XqaRun run(scene, {.dense = true});
  run.run();
  for (std::int64_t i = 0; i < 2 * 6 * 256; ++i)
    REQUIRE(is_nan(run.decode.out, Dtype::fp16, i) == (i < 6 * 256 && i % 256 == 31));
}

TEST_CASE("xqa: every op of the route writes what its contract says and not one byte more") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const bool dense : {false, true}) {
    for (const std::int32_t group_rows : {0, 8}) {
      SceneShape shape{.lengths = {300, 77}, .rows = {7, 4}, .pad_rows = 2, .page_size = 16, .dim = 64};
      Scene scene(shape, rng);
      scene.select(rng);
      XqaRun run(scene, {.dense = dense, .group_rows = group_rows});
      run_checked(plan_xqa, run.plan, scene.memory);
      run_checked(xqa_decode, run.decode, scene.memory);
    }
  }
}

TEST_CASE("xqa: the contracts hand the counters on: zeroed by the planner, needed and accumulated by the decode") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({64, 64}, 16), rng);
  XqaRun run(scene, {.dense = true});
  const auto counters = reinterpret_cast<Address>(run.plan.counters);
  const Contract plan = plan_xqa.contract(run.plan), decode = xqa_decode.contract(run.decode);
  REQUIRE(plan.gives.size() == 1);
  CHECK(plan.gives[0].fact == Fact::zeroed);
  CHECK(plan.gives[0].base == counters);
  CHECK(plan.gives[0].range == ByteRange{0, 2 * 6 * 4});
  REQUIRE(decode.needs.size() == 1);
  CHECK(decode.needs[0].fact == Fact::zeroed);
  CHECK(decode.needs[0].range == plan.gives[0].range);
  for (const Access& access : decode.accesses)
    if (access.base == counters) CHECK(access.mode == Mode::accumulate);
  run.plan.counters_zeroed = 5;
  CHECK(plan_xqa.contract(run.plan).gives[0].range == ByteRange{0, 5 * 4});
  run.plan.counters_zeroed = 0;
  CHECK(plan_xqa.contract(run.plan).gives.empty());
  run.plan.counter_sets = 4;
  run.plan.counters_zeroed = 4 * 2 * 6;
  CHECK(plan_xqa.contract(run.plan).gives[0].range == ByteRange{0, 4 * 2 * 6 * 4});
}

TEST_CASE(
    "xqa: a decode whose plan is done says what it reads before it waits, settled tokens where no keys name others") {
  Rng rng(fresh_seed());
  const bool dense = GENERATE(true, false), plan_is_done = GENERATE(false, true);
  Scene scene(one_row_each({64, 700}, 16), rng);
  if (!dense) scene.select(rng);
  XqaRun run(scene, {.dense = dense});
  run.decode.plan_is_done = plan_is_done;
  const auto pool = reinterpret_cast<Address>(scene.pool.data);
  int early = 0, of_pool = 0, early_of_pool = 0;
  for (const Access& access : xqa_decode.contract(run.decode).accesses) {
    early += access.before_wait ? 1 : 0;
    CHECK((!access.before_wait || access.mode == Mode::read));
    CHECK((access.tokens == CacheTokens::settled) == (access.base == pool && access.before_wait));
    if (access.base != pool) continue;
    of_pool += access.before_wait ? 0 : 1;
    early_of_pool += access.before_wait ? 1 : 0;
    CHECK(access.range == ByteRange{0, scene.pool.bytes()});
  }
  CHECK(of_pool == 1);  // what is appended this step it reads behind its wait
  CHECK(early_of_pool == (dense && plan_is_done ? 1 : 0));
  // lengths, active_partitions, and keys or token_to_req, page_table and the pool
  CHECK(early == (!plan_is_done ? 0 : dense ? 5 : 3));
}

TEST_CASE("xqa: fp16 partials are right for an fp16 cache and lose an E4M3 sum that fp32 keeps") {
  Rng rng(fresh_seed());
  SceneShape shape = one_row_each({700}, 16);
  shape.kv_dtype = Dtype::fp16;
  Scene scene(shape, rng);
  XqaRun half(scene, {.dense = true, .partial_dtype = Dtype::fp16});
  half.run();
  const Compared worst = compare(scene, half.decode.out, half.decode.lse, all_rows(scene, true));
  CHECK(worst.out <= 3.0);  // each of the three splits is rounded once more, by half a step

  shape.kv_dtype = Dtype::e4m3;
  shape.v_scale = 1e-6f;  // a partial of this size is subnormal in fp16
  Scene small(shape, rng);
  XqaRun whole(small, {.dense = true}), lossy(small, {.dense = true, .partial_dtype = Dtype::fp16});
  whole.decode.out_dtype = lossy.decode.out_dtype = Dtype::fp32;
  whole.decode.out = small.memory.take<float>(6 * 256);
  lossy.decode.out = small.memory.take<float>(6 * 256);
  whole.run();
  lossy.run();
  const OracleResult want = attention_oracle(small.problem(), all_rows(small, true));
  double whole_error = 0, lossy_error = 0, largest = 0;
  for (std::size_t i = 0; i < want.out.size(); ++i) {
    whole_error = std::max(whole_error, std::abs(static_cast<const float*>(whole.decode.out)[i] - want.out[i]));
    lossy_error = std::max(lossy_error, std::abs(static_cast<const float*>(lossy.decode.out)[i] - want.out[i]));
    largest = std::max(largest, std::abs(want.out[i]));
  }
  CHECK(whole_error < 1e-2 * largest);
  CHECK(lossy_error > 0.05 * largest);
}
