// How xqa_decode splits a row: the rule in numbers, then planner and decode by it, over
// rows of more tokens than most splits times the fewest tokens of one.
#include <climits>

#include "tests/kernels/xqa_route.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::int32_t kMost = 3, kFewest = 20;  ///< rows past 60 tokens have longer splits

/// Where a rule of kMost and kFewest changes: none, one split, the last row as short splits, the first of long ones;
/// 64 is two whole stages, 96 three, and 97 is the first row of splits of 64.
const std::vector<std::int32_t> kLengths = {0, 1, 20, 21, 59, 60, 61, 64, 65, 95, 96, 97, 700, 2051};

SceneShape small(std::int32_t page, Dtype kv, std::int32_t kv_heads = 2, std::int32_t pad_rows = 0) {
  SceneShape shape = one_row_each(kLengths, page, pad_rows);
  shape.heads = 4;
  shape.kv_heads = kv_heads;
  shape.dim = 64;
  shape.kv_dtype = kv;
  return shape;
}

}  // namespace

TEST_CASE("xqa splits: a row is cut every fewest tokens as far as its most splits reach and evenly past that") {
  struct Case {
    SplitRule rule;
    std::int32_t length;
    std::uint32_t tokens;
    std::int32_t splits;
  };
  constexpr SplitRule kOfEight{32, 256};  // a model of eight KV heads
  const Case cases[] = {
      {kOfEight, 0, 256, 0},
      {kOfEight, 1, 256, 1},
      {kOfEight, 256, 256, 1},
      {kOfEight, 257, 256, 2},
      {kOfEight, 8191, 256, 32},
      {kOfEight, 8192, 256, 32},            // 32 * 256
      {kOfEight, 8193, 288, 29},            // 257 tokens each are too few for 32, and so 9 * 32; 28.4 of these
      {kOfEight, 9216, 288, 32},            // 32 * 288
      {kOfEight, 9217, 320, 29},            // 28.8
      {kOfEight, 131'072, 4096, 32},        // 2^17 / 2^5
      {kOfEight, INT32_MAX, 1u << 26, 32},  // 2^31 - 1 over 2^5, rounded up
      {{128, 256}, 131'072, 1024, 128},     // a model of one KV head
      {{3, 256}, 1000, 352, 3},             // 334 each, and so 11 * 32
      {{2, 300}, 600, 300, 2},              // the fewest are as they are, whole stages or not
      {{2, 300}, 601, 320, 2},              // 301
      {{8, 1}, 8, 1, 8},                    // a split a token
      {{8, 1}, 9, 32, 1},                   // 2 each, and so a stage
      {{1, 1}, 33, 64, 1},                  // never more than the most, here one
      {{1, 1}, INT32_MAX, 1u << 31, 1},     // 2^31 - 1 rounded up: past an int32
      {{INT32_MAX, 1}, INT32_MAX, 1, INT32_MAX},
      {{INT32_MAX, INT32_MAX}, INT32_MAX, INT32_MAX, 1},  // their product takes 62 bits
  };
  for (const Case& c : cases) {
    CAPTURE(c.rule.most_splits, c.rule.fewest_tokens, c.length);
    CHECK(c.rule.tokens(c.length) == c.tokens);
    CHECK(c.rule.splits(c.length) == c.splits);
  }
}

TEST_CASE("xqa splits: whatever the rule its splits cover the row and are no more and no longer than they must be") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  // Every magnitude as likely as another: 1 to 2^31 - 1.
  const auto any = [&] {
    return static_cast<std::int32_t>(std::max<std::uint64_t>(rng() % (1ull << 31) >> rng() % 31, 1));
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t most = any(), fewest = any(), length = any();
    const SplitRule rule{static_cast<std::int32_t>(most), static_cast<std::int32_t>(fewest)};
    const std::int64_t tokens = rule.tokens(static_cast<std::int32_t>(length));
    const std::int64_t splits = rule.splits(static_cast<std::int32_t>(length));
    CAPTURE(most, fewest, length, tokens, splits);
    REQUIRE(splits <= most);
    REQUIRE(splits * tokens >= length);
    REQUIRE((splits - 1) * tokens < length);
    if (most * fewest >= length) {
      REQUIRE(tokens == fewest);
    } else {
      REQUIRE(tokens % 32 == 0);
      REQUIRE(tokens > fewest);
      REQUIRE((tokens - 32) * most < length);  // a stage less and the most splits would not reach
    }
  }
}

TEST_CASE("xqa splits: a model has so many that one row fills 132 multiprocessors about once") {
  struct Splits {
    std::int32_t kv_heads, sixteen_bits, e4m3;
  };
  for (const auto& [kv_heads, sixteen_bits, e4m3] : {Splits{1, 128, 128},
                                                     {2, 66, 128},
                                                     {3, 44, 88},
                                                     {4, 33, 66},
                                                     {5, 26, 52},
                                                     {8, 16, 33},
                                                     {16, 8, 16},
                                                     {33, 8, 8},
                                                     {40, 8, 8},
                                                     {1000, 8, 8}}) {
    CAPTURE(kv_heads);
    CHECK(most_splits_of_row(kv_heads, Dtype::bf16) == sixteen_bits);
    CHECK(most_splits_of_row(kv_heads, Dtype::fp16) == sixteen_bits);
    CHECK(most_splits_of_row(kv_heads, Dtype::e4m3) == e4m3);
    if (kv_heads <= 16) CHECK(kv_heads * sixteen_bits <= 132);
    if (kv_heads <= 33) CHECK(kv_heads * e4m3 <= 2 * 132);
  }
}

TEST_CASE("xqa splits: a model's blocks are wide over 16 bits and few KV heads alone") {
  for (const Dtype kv : {Dtype::fp16, Dtype::bf16}) {
    CHECK(has_wide_splits(1, kv));
    CHECK(has_wide_splits(7, kv));
    CHECK_FALSE(has_wide_splits(8, kv));
  }
  CHECK_FALSE(has_wide_splits(1, Dtype::e4m3));
}

TEST_CASE("xqa splits: room is made for no more splits than the longest row may have") {
  CHECK(splits_within({32, 256}, 1) == 1);
  CHECK(splits_within({32, 256}, 4096) == 16);
  CHECK(splits_within({32, 256}, 4097) == 17);
  CHECK(splits_within({32, 256}, 8192) == 32);
  CHECK(splits_within({32, 256}, 131'072) == 32);
  CHECK(splits_within({32, 1}, INT32_MAX) == 32);
  // The room is then the rule's most splits, and no row of the context is cut differently for it.
  for (const std::int32_t context : {1, 300, 4096, 8192, 8193, 20'000}) {
    const SplitRule rule{32, 256}, within{splits_within(rule, context), 256};
    for (std::int32_t length = 0; length <= context; length += 7) REQUIRE(within.tokens(length) == rule.tokens(length));
  }
}

TEST_CASE("plan_xqa: as many splits are active as the row of the most has which need not be the longest") {
  Rng rng(fresh_seed());
  for (const auto& [lengths, active] : {std::pair(std::vector<std::int32_t>{61, 60}, 3),  // splits of 32 and of 20
                                        {{61, 40, 0}, 2},                                 // 61 in splits of 32
                                        {{700, 3}, 3},                                    // 233 each, and so 256
                                        {{0, 0}, 0}}) {
    SceneShape shape = one_row_each(lengths, 16, 2);
    shape.dim = 64;
    Scene scene(shape, rng);
    scene.select(rng);
    for (const bool dense : {true, false}) {
      XqaRun run(scene, {.dense = dense, .partition_tokens = kFewest, .partitions = kMost});
      run.run();
      CAPTURE(dense, lengths[0]);
      CHECK(*run.plan.active_partitions == active);
      require_right(scene, run, all_rows(scene, dense));
    }
  }
}

TEST_CASE("plan_xqa: a row of 2 to the 31 less one tokens has its most splits") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({16}, 16), rng);
  scene.seq_len[0] = INT32_MAX;
  scene.query_pos[0] = INT32_MAX - 1;
  XqaRun run(scene, {.dense = true, .partitions = 32});
  plan_xqa.host(run.plan);  // a dense plan looks at no page
  CHECK(run.plan.lengths[0] == INT32_MAX);
  CHECK(*run.plan.active_partitions == 32);
  xqa_decode.host(run.decode);  // whose table has no such token
  CHECK(is_nan(run.decode.out, Dtype::fp16, 0));
}

TEST_CASE("xqa splits: rows past the most splits of the fewest tokens agree with the oracle, dense and sparse") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const bool dense : {true, false}) {
    for (const auto& [page, kv] : {std::pair(4, Dtype::fp16), {16, Dtype::e4m3}, {20, Dtype::fp16}}) {
      Scene scene(small(page, kv, dense ? 2 : 1, 2), rng);  // keys are of one KV head
      scene.select(rng);
      for (const std::int32_t most : {1, kMost, 8}) {
        XqaRun run(scene, {.dense = dense, .partition_tokens = kFewest, .partitions = most});
        run.run();  // over 0xFF: tails, pages of nobody, partials
        CAPTURE(page, most, dense);
        require_right(scene, run, all_rows(scene, dense));
        require_empty_row(scene, run, 0);
        for (std::int32_t row = *scene.rows; row < scene.batch.bucket; ++row) require_empty_row(scene, run, row);
      }
    }
  }
}

TEST_CASE("xqa splits: a row has the same bits alone and among others of other lengths and in a larger bucket") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  const XqaRun::Options options{.dense = true, .partition_tokens = kFewest, .partitions = kMost};
  Scene scene(small(16, Dtype::fp16), rng);
  XqaRun all(scene, options);
  all.run();
  const auto last = static_cast<std::int32_t>(kLengths.size()) - 1;
  for (std::int32_t row = 0; row <= last; ++row) {
    CAPTURE(kLengths[static_cast<std::size_t>(row)]);
    XqaRun alone = route_of_rows(scene, {row}, 1, options), roomy = route_of_rows(scene, {row}, 9, options);
    XqaRun beside = route_of_rows(scene, {last, row, 1, 0}, 6, options);
    for (XqaRun* run : {&alone, &roomy, &beside}) run->run();
    CHECK(same_bits(alone, 0, all, row));
    CHECK(same_bits(roomy, 0, all, row));
    CHECK(same_bits(beside, 1, all, row));
  }
  // The comparison sees a row that is cut elsewhere: its last row in four splits and not in three.
  XqaRun other = route_of_rows(scene, {last}, 1, {.dense = true, .partition_tokens = kFewest, .partitions = 4});
  other.run();
  CHECK_FALSE(same_bits(other, 0, all, last));
}

TEST_CASE("xqa splits: a decode that goes by a longer list of splits than its plan is NaN") {
  Rng rng(fresh_seed());
  Scene scene(small(16, Dtype::fp16), rng);
  XqaRun run(scene, {.dense = true, .partition_tokens = kFewest, .partitions = 8});
  run.plan.partitions = kMost;
  run.run();
  const auto last = static_cast<std::int64_t>(kLengths.size()) - 1;
  const std::int64_t row = 4 * 64;
  CHECK(*run.plan.active_partitions == 3);
  for (std::int64_t i = last * row; i < (last + 1) * row; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
  // A row of two splits, which are active, is the same by either list.
  require_right(scene, run, {scene.oracle_row(3, scene.visible_tokens(3))});
}
