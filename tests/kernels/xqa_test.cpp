// plan_xqa and xqa_decode as one route, against the oracle.
#include <climits>
#include <cmath>
#include <cstring>

#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/xqa_route.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("xqa: dense decode agrees with the oracle for every page size, GQA ratio, dim and edge length") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  struct Case {
    std::int32_t page, heads, kv_heads, dim, partition;
    Dtype kv, q;
  };
  const Case cases[] = {
      {4, 6, 1, 256, 256, Dtype::e4m3, Dtype::fp16},    {16, 8, 2, 128, 512, Dtype::fp16, Dtype::fp16},
      {32, 8, 8, 64, 256, Dtype::bf16, Dtype::bf16},    {64, 32, 8, 64, 300, Dtype::e4m3, Dtype::bf16},
      {128, 6, 1, 128, 1024, Dtype::fp16, Dtype::fp16},
  };
  for (const Case& c : cases) {
    SceneShape shape = one_row_each(edge_lengths(c.page, c.partition), c.page, 3);
    shape.heads = c.heads;
    shape.kv_heads = c.kv_heads;
    shape.dim = c.dim;
    shape.kv_dtype = c.kv;
    shape.q_dtype = c.q;
    Scene scene(shape, rng);
    XqaRun run(scene, {.dense = true, .partition_tokens = c.partition});
    run.run();
    CAPTURE(c.page, c.heads, c.kv_heads, c.dim);
    require_right(scene, run, all_rows(scene, true));
    require_empty_row(scene, run, 0);  // length 0
    for (std::int32_t row = *scene.rows; row < scene.batch.bucket; ++row) require_empty_row(scene, run, row);
    CHECK(*run.plan.active_partitions == (2051 + c.partition - 1) / c.partition);
  }
}

TEST_CASE("xqa: sparse decode agrees with the oracle for every page size and edge length") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t page : {4, 16, 32, 64}) {
    std::vector<std::int32_t> lengths = edge_lengths(page, 256);
    lengths.push_back(5003);  // more blocks than a row may select
    Scene scene(one_row_each(lengths, page, 2), rng);
    scene.select(rng);
    XqaRun run(scene, {});
    run.run();
    CAPTURE(page);
    require_right(scene, run, all_rows(scene, false));
    require_empty_row(scene, run, 0);
    for (std::int32_t row = *scene.rows; row < scene.batch.bucket; ++row) require_empty_row(scene, run, row);
    for (std::size_t row = 0; row < lengths.size(); ++row)
      CHECK(run.plan.lengths[row] == (lengths[row] == 5003 ? 2051 : lengths[row]));
    CHECK(*run.plan.active_partitions == 9);
  }
}

TEST_CASE("xqa: grouped and XQA route agree on the same rows within one tolerance") {
  Rng rng(fresh_seed());
  Scene scene({}, rng);
  scene.select(rng);
  XqaRun xqa(scene, {});
  xqa.run();
  GroupedRun grouped(scene);
  grouped.run(true, true);
  for (std::int64_t i = 0; i < 16 * 6 * 256; ++i) {
    const double a = load_as_float(xqa.decode.out, Dtype::fp16, i);
    const double b = load_as_float(grouped.attention.out, Dtype::fp16, i);
    REQUIRE(std::abs(a - b) <= tolerance(Dtype::fp16, a, 0));
  }
}

TEST_CASE("xqa: with groups of 8 the slots serve the rows behind the last whole group, and only those are written") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t rows : {1, 7, 8, 16, 19, 23}) {
    Scene scene({.lengths = {301}, .rows = {rows}, .pad_rows = 24 - rows, .dim = 64}, rng);
    scene.select(rng);
    XqaRun run(scene, {.group_rows = 8});
    std::memset(run.decode.out, 0x7F, static_cast<std::size_t>(24 * 6 * 64 * 2));
    run.run();
    const std::int32_t base = rows / 8 * 8;
    CAPTURE(rows);
    std::vector<OracleRow> served;
    for (std::int32_t slot = 0; slot < 7; ++slot) {
      const bool real = base + slot < rows;
      CHECK(run.plan.slot_rows[slot] == (real ? base + slot : -1));
      CHECK((run.plan.lengths[slot] > 0) == real);
      if (real) served.push_back(scene.oracle_row(base + slot, scene.selected_tokens(base + slot)));
    }
    require_right(scene, run, served);
    for (std::int64_t i = 0; i < 24 * 6 * 64; ++i) {
      const std::int64_t row = i / 6 / 64;
      if (row < base || row >= rows) REQUIRE(static_cast<const std::uint16_t*>(run.decode.out)[i] == 0x7F7F);
    }
  }
}

TEST_CASE("xqa: one plan serves as many decodes as it has sets of counters") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  constexpr std::int32_t kSets = 3;
  const SceneShape shape = one_row_each({300, 0, 77, 2051}, 16, 2);
  for (const bool dense : {true, false}) {
    Scene scene(shape, rng);
    scene.select(rng);
    XqaRun run(scene, {.dense = dense, .counter_sets = kSets});
    run_checked(plan_xqa, run.plan, scene.memory);  // from poison: all sets are zeroed, and no byte past them
    const std::int32_t set_size = scene.batch.bucket * scene.shape.heads;
    for (std::int32_t set = 0; set < kSets; ++set) {
      run.decode.counters = run.plan.counters + set * set_size;
      xqa_decode.host(run.decode);
      CAPTURE(dense, set);
      require_right(scene, run, all_rows(scene, dense));
    }
  }
}

TEST_CASE("xqa: a plan that zeroes one set of counters of two leaves the second decode NaN") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({300}, 16), rng);
  XqaRun run(scene, {.dense = true, .counter_sets = 2});
  run.plan.counters_zeroed /= 2;
  run.decode.counters += 6;
  run.run();
  for (std::int64_t i = 0; i < 6 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
}

TEST_CASE("plan_xqa: keys are in logical order, tail last, and what is invalid sorts behind it") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({403}, 4), rng);
  scene.select(rng);
  XqaRun run(scene, {});
  plan_xqa.host(run.plan);
  for (std::int64_t i = 0; i < 101; ++i) {
    const std::int64_t key = run.plan.keys[i];
    const std::int64_t tail = i == 100 ? std::int64_t{1} << 62 : 0;
    const std::int64_t page = scene.page_table[i];  // page 4: one microblock a page, two a page with V
    REQUIRE(key == tail + ((4 * i) << 31) + 2 * page);
  }
  for (std::int64_t i = 101; i < kXqaSlots; ++i) REQUIRE(run.plan.keys[i] == INT64_MAX);
  CHECK(run.plan.lengths[0] == 403);
}

TEST_CASE("xqa: an invalid complete block is left out and does not swallow the tail") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t bad : {0, -1, INT_MAX}) {
    Scene scene(one_row_each({403}, 4), rng);
    scene.select(rng);
    const std::int32_t good = scene.page_table[17];
    scene.page_table[17] = bad;  // block 17: tokens 68..71
    XqaRun run(scene, {});
    run.run();
    scene.page_table[17] = good;
    std::vector<std::int64_t> tokens = scene.selected_tokens(0);
    std::erase_if(tokens, [](std::int64_t token) { return token / 4 == 17; });
    CHECK(run.plan.lengths[0] == 399);
    require_right(scene, run, {scene.oracle_row(0, tokens)});
  }
}

TEST_CASE("xqa: an invalid tail page leaves the complete blocks") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({403}, 4), rng);
  scene.select(rng);
  scene.page_table[100] = static_cast<std::int32_t>(scene.pool.pages);
  XqaRun run(scene, {});
  run.run();
  std::vector<std::int64_t> tokens = scene.selected_tokens(0);
  tokens.resize(400);
  require_right(scene, run, {scene.oracle_row(0, tokens)});
}

TEST_CASE("xqa: a block whose entries are not one whole microblock has no key") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({400}, 16), rng);
  scene.select(rng);
  const std::vector<std::int64_t> tokens = scene.selected_tokens(0);
  scene.selected[2] = -1;                                           // block at place 0 has a hole
  for (std::int32_t i = 0; i < 4; ++i) scene.selected[4 + i] += 1;  // block at place 1 is not aligned
  XqaRun run(scene, {});
  run.run();
  CHECK(run.plan.lengths[0] == 392);
  require_right(scene, run, {scene.oracle_row(0, {tokens.begin() + 8, tokens.end()})});
}

TEST_CASE("xqa: full-range E4M3 scores and sums that overflow fp16 stay exact in fp32") {
  Rng rng(fresh_seed());
  SceneShape shape = one_row_each({1024}, 16);
  shape.k_scale = 0.05f;
  shape.v_scale = 1.0f / 448.0f;
  Scene scene(shape, rng);
  for (std::int64_t i = 0; i < 6 * 256; ++i) store_from_float(scene.q, Dtype::fp16, i, 1.0f);
  for (std::int64_t token = 0; token < 1024; ++token) {
    std::memset(scene.k_row(0, token), 0x7E, 256);
    for (std::int64_t d = 0; d < 256; ++d) scene.v_row(0, token)[d] = d % 2 == 0 ? std::byte{0x7E} : std::byte{0xFE};
  }
  XqaRun run(scene, {.dense = true});
  run.run();
  for (std::int64_t i = 0; i < 6 * 256; ++i)
    REQUIRE(load_as_float(run.decode.out, Dtype::fp16, i) == (i % 2 == 0 ? 1.0f : -1.0f));
  // Every score is 448 * 256 * 0.05 / 16; the dot product alone is 114,688, past fp16's 65,504.
  const double lse = 448.0 * 256 * 0.05 / 16 + std::log(1024.0);
  for (int head = 0; head < 6; ++head) CHECK(run.decode.lse[head] == Approx(lse).epsilon(1e-6));
}

TEST_CASE("xqa: a leading tile or a whole split whose every score is -inf weighs nothing and makes no NaN") {
  Rng rng(fresh_seed());
  for (const std::int32_t partition : {256, 32}) {
    SceneShape shape = one_row_each({300}, 16);
    shape.kv_dtype = Dtype::fp16;
    Scene scene(shape, rng);
    for (std::int64_t head = 0; head < 6; ++head) store_from_float(scene.q, Dtype::fp16, head * 256, 1.0f);
    for (std::int64_t token = 0; token < 32; ++token)
      store_from_float(scene.k_row(0, token), Dtype::fp16, 0, -INFINITY);
    XqaRun run(scene, {.dense = true, .partition_tokens = partition, .partitions = 10});
    run.run();
    require_right(scene, run, all_rows(scene, true));
    for (std::int64_t token = 32; token < 300; ++token)
      store_from_float(scene.k_row(0, token), Dtype::fp16, 0, -INFINITY);
    run.run();  // now no score is left: 0 / 0, not a plausible zero
    for (std::int64_t i = 0; i < 6 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
  }
}

TEST_CASE("xqa: a balanced splitting fills a device in one wave or in full ones and covers every token") {
  constexpr std::int32_t kMultiprocessors = 132;
  const auto splitting = [](std::int32_t rows, Dtype dtype, std::int32_t tokens) {
    return balanced_splitting(rows, {.kv_heads = 8, .dim = 128, .dtype = dtype}, tokens, kMultiprocessors);
  };
  // 8 units of work: 16 blocks each, the most that are one wave of 132.
  CHECK(splitting(1, Dtype::bf16, 131072).partition_tokens == 8192);
  CHECK(splitting(1, Dtype::bf16, 131072).partitions == 16);
  CHECK(splitting(16, Dtype::bf16, 8192).partitions == 1);
  CHECK(splitting(32, Dtype::e4m3, 8192).partitions == 1);  // 256 of 264 places
  CHECK(splitting(32, Dtype::bf16, 8192).partitions == 1);  // 256 of 132 places, twice
  // 192 units are three quarters of a wave of narrow blocks: four splits each fill 2.9 waves. Of wide ones two do.
  CHECK(splitting(24, Dtype::e4m3, 8192).partitions == 4);
  CHECK(splitting(24, Dtype::bf16, 8192).partitions == 2);
  CHECK(splitting(16, Dtype::e4m3, 8192).wide);
  CHECK(splitting(16, Dtype::bf16, 8192).wide);
  CHECK(splitting(32, Dtype::bf16, 8192).wide);
  CHECK_FALSE(splitting(32, Dtype::bf16, 8191).wide);
  CHECK_FALSE(splitting(32, Dtype::e4m3, 8192).wide);
  for (const std::int32_t rows : {1, 3, 16, 17, 24, 33, 100})
    for (const std::int32_t tokens : {1, 255, 256, 257, 2051, 100'000}) {
      const XqaSplitting s = splitting(rows, Dtype::e4m3, tokens);
      CAPTURE(rows, tokens, s.partition_tokens, s.partitions);
      CHECK(s.partition_tokens >= 256);
      CHECK(std::int64_t{s.partitions} * s.partition_tokens >= tokens);
      CHECK(std::int64_t{s.partitions - 1} * s.partition_tokens < tokens);
    }
}
