// Rows of more tokens than most splits times the fewest tokens of one, on the device:
// against the fp64 oracle, the same bits in every batch and bucket, and the planner's
// count of splits.
#include <climits>

#include "tests/gpu/xqa_on_device.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

struct Case {
  Dtype kv;
  std::int32_t page, heads, kv_heads, dim, most, fewest;
};

/// Shapes of narrow and wide blocks with stages of 16 and of 32 tokens.
const std::vector<Case> kCases = {
    {Dtype::bf16, 16, 32, 8, 128, 8, 64}, {Dtype::fp16, 64, 8, 8, 64, 3, 100},  {Dtype::e4m3, 20, 6, 1, 256, 5, 32},
    {Dtype::e4m3, 16, 16, 2, 64, 7, 64},  {Dtype::bf16, 32, 16, 1, 256, 4, 20}, {Dtype::e4m3, 16, 64, 8, 128, 2, 96},
};

/// About most * fewest, where splits begin to grow, and up to 64 of a warp's stages past it.
std::vector<std::int32_t> lengths_of(const Case& c) {
  const std::int32_t whole = c.most * c.fewest;
  return {0, 1, c.fewest + 1, whole - 1, whole, whole + 1, whole + 33, 2 * whole, 2 * whole + 1, 5 * whole + 3};
}

Scene scene_of(const Case& c, std::int32_t pad_rows, Rng& rng) {
  SceneShape shape = one_row_each(lengths_of(c), c.page, pad_rows);
  shape.heads = c.heads;
  shape.kv_heads = c.kv_heads;
  shape.dim = c.dim;
  shape.kv_dtype = c.kv;
  shape.q_dtype = c.kv == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16;
  return {shape, rng};
}

XqaRun::Options options_of(const Case& c, bool dense = true) {
  return {.dense = dense, .partition_tokens = c.fewest, .partitions = c.most};
}

}  // namespace

TEST_CASE("xqa splits on the GPU: rows past the most splits of the fewest tokens agree with the oracle") {
  const bool wide = GENERATE(false, true);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Case& c : kCases) {
    Scene scene = scene_of(c, 2, rng);
    scene.select(rng);
    for (const bool dense : {true, false}) {
      if (!dense && c.kv_heads > 1) continue;  // keys are of one KV head
      XqaRun run(scene, options_of(c, dense));
      run.decode.wide = wide;
      CAPTURE(to_string(c.kv), c.heads, c.kv_heads, c.dim, c.most, c.fewest, dense);
      decode_on_device(scene, run);
      require_right(scene, run, all_rows(scene, dense));
      require_empty_row(scene, run, 0);
      for (std::int32_t row = *scene.rows; row < scene.batch.bucket; ++row) require_empty_row(scene, run, row);
    }
  }
}

TEST_CASE("xqa splits on the GPU: a row has the same bits alone and among others and in a larger bucket") {
  const bool wide = GENERATE(false, true);
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  // Of each element size, and of E4M3 both dims of which three blocks share a multiprocessor where there are many.
  // Every run copies the whole scene.
  for (const Case& c : {kCases[1], kCases[2], kCases[3], kCases[4], kCases[5]}) {
    CAPTURE(to_string(c.kv), c.heads, c.kv_heads, c.dim, c.most, c.fewest);
    Scene scene = scene_of(c, 0, rng);
    XqaRun all(scene, options_of(c));
    all.decode.wide = wide;
    decode_on_device(scene, all);
    const std::int32_t last = *scene.rows - 1;
    for (const std::int32_t row : {5, last}) {
      CAPTURE(scene.seq_len[row]);
      XqaRun alone = route_of_rows(scene, {row}, 1, options_of(c)),
             roomy = route_of_rows(scene, {row}, 9, options_of(c));
      XqaRun beside = route_of_rows(scene, {last, row, 1, 0}, 6, options_of(c));
      for (XqaRun* run : {&alone, &roomy, &beside}) {
        run->decode.wide = wide;
        decode_on_device(scene, *run);
        CHECK(same_bits(*run, run == &beside ? 1 : 0, all, row));
      }
    }
    // So many blocks that over E4M3 three of them share a multiprocessor.
    constexpr std::int32_t kCrowd = 150;
    XqaRun crowded = route_of_rows(scene, std::vector<std::int32_t>(kCrowd, last), kCrowd, options_of(c));
    crowded.decode.wide = wide;
    decode_on_device(scene, crowded);
    CHECK(same_bits(crowded, 0, all, last));
    CHECK(same_bits(crowded, kCrowd - 1, all, last));
    Case other = c;
    other.most += 1;
    XqaRun elsewhere = route_of_rows(scene, {last}, 1, options_of(other));
    elsewhere.decode.wide = wide;
    decode_on_device(scene, elsewhere);
    CHECK_FALSE(same_bits(elsewhere, 0, all, last));
  }
}

TEST_CASE("xqa splits on the GPU: a length that no plan of this launch gives is NaN, and the other rows are right") {
  const bool wide = GENERATE(false, true);
  Rng rng(fresh_seed());
  Scene scene(one_row_each({1000, 200}, 16), rng);
  scene.select(rng);
  for (const bool dense : {true, false}) {
    // The table has 65 pages of 16 tokens a request; a slot has 513 keys of 4.
    for (const std::int32_t length : {dense ? 1041 : 2053, INT_MAX, 0x7F7F7F7F, -1, INT_MIN}) {
      XqaRun run(scene, {.dense = dense, .partitions = 3});
      run.decode.wide = wide;
      CAPTURE(dense, length);
      decode_on_device(scene, run, [&] { run.plan.lengths[0] = length; });
      for (std::int64_t i = 0; i < 6 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
      for (int head = 0; head < 6; ++head) CHECK(std::isnan(run.decode.lse[head]));
      require_right(scene, run, {scene.oracle_row(1, dense ? scene.visible_tokens(1) : scene.selected_tokens(1))});
    }
  }
}

TEST_CASE(
    "plan_xqa on the device: as many splits are active as the row of the most has, which need not be the longest") {
  Rng rng(fresh_seed());
  for (const auto& [lengths, active] : {std::pair(std::vector<std::int32_t>{61, 60}, 3),  // splits of 32 and of 20
                                        {{61, 40, 0}, 2},                                 // 61 in splits of 32
                                        {{700, 3}, 3},                                    // 233 each, and so 256
                                        {{0, 0}, 0}}) {
    SceneShape shape = one_row_each(lengths, 16, 2);
    shape.dim = 8;
    Scene scene(shape, rng);
    scene.select(rng);
    for (const bool dense : {true, false}) {
      for (const std::int32_t group_rows : {0, kGroupRows}) {
        CAPTURE(dense, group_rows, lengths[0]);
        XqaRun run(scene, {.dense = dense, .group_rows = group_rows, .partition_tokens = 20, .partitions = 3});
        require_as_twin(plan_xqa, run.plan, scene.memory);
        CHECK(*run.plan.active_partitions == active);
      }
    }
  }
}

TEST_CASE("plan_xqa on the device: a row of 2 to the 31 less one tokens has its most splits") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({16, 3}, 16), rng);
  scene.seq_len[0] = INT32_MAX;
  scene.query_pos[0] = INT32_MAX - 1;
  for (const std::int32_t most : {1, 3, 32}) {
    XqaRun run(scene, {.dense = true, .partitions = most});
    require_as_twin(plan_xqa, run.plan, scene.memory);
    CHECK(*run.plan.active_partitions == most);
  }
}
