// The end of a row in xqa_decode: how its splits become one, and when they do not.
#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/xqa_route.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();
constexpr std::int32_t kDim = 64, kTokens = 4, kRoom = 8;  ///< tokens a split, splits that there is room for

SceneShape one_head(std::int32_t length) {
  SceneShape shape = one_row_each({length}, 4);
  shape.heads = 1;
  shape.dim = kDim;
  shape.kv_dtype = Dtype::fp16;
  shape.k_scale = shape.v_scale = 1.0f;
  return shape;
}

/// One row, one head, splits of four equal tokens: split i scores `scores[i]`, and its values are `values[i]`.
struct Splits {
  Splits(const std::vector<float>& scores, const std::vector<float>& values)
      : scene(one_head(static_cast<std::int32_t>(scores.size()) * kTokens), rng),
        run(scene, {.dense = true, .partition_tokens = kTokens, .partitions = kRoom}) {
    for (std::int64_t d = 0; d < kDim; ++d) store_from_float(scene.q, Dtype::fp16, d, d == 0 ? 8.0f : 0.0f);
    for (std::size_t i = 0; i < scores.size() * kTokens; ++i) {
      const auto token = static_cast<std::int64_t>(i);
      store_from_float(scene.k_row(0, token), Dtype::fp16, 0, scores[i / kTokens]);  // 8 / sqrt(64) times the score
      for (std::int64_t d = 0; d < kDim; ++d)
        store_from_float(scene.v_row(0, token), Dtype::fp16, d, values[i / kTokens]);
    }
    run.decode.out_dtype = Dtype::fp32;
    run.decode.out = out = scene.memory.take<float>(kDim);
  }
  /// The planner zeroes the counter; `start` is what it holds instead.
  void decode(std::uint32_t start = 0) {
    plan_xqa.host(run.plan);
    *run.decode.counters = static_cast<std::int32_t>(start);
    xqa_decode.host(run.decode);
  }
  [[nodiscard]] float lse() const { return *run.decode.lse; }
  [[nodiscard]] bool is_all_nan() const {
    for (std::int64_t d = 0; d < kDim; ++d)
      if (!std::isnan(out[d])) return false;
    return std::isnan(lse());
  }

  Rng rng{1};
  Scene scene;
  XqaRun run;
  float* out = nullptr;
};

}  // namespace

TEST_CASE("xqa merge: splits weigh by the exponential of their LSE") {
  Splits s({0.0f, 0.75f, 1.5f}, {1.0f, 2.0f, 4.0f});
  s.decode();
  const double weights[] = {1.0, std::exp(0.75), std::exp(1.5)}, total = weights[0] + weights[1] + weights[2];
  for (std::int64_t d = 0; d < kDim; ++d)
    REQUIRE(s.out[d] == Approx((weights[0] * 1 + weights[1] * 2 + weights[2] * 4) / total));
  CHECK(s.lse() == Approx(std::log(kTokens * total)));
}

TEST_CASE("xqa merge: LSE far apart and far from zero do not overflow") {
  Splits s({-2000.0f, 3000.0f}, {3.0f, 5.0f});
  s.decode();
  CHECK(s.out[0] == 5.0f);  // exp(-5000) is 0 in any float
  CHECK(s.lse() == Approx(3000.0 + std::log(4.0)));
}

TEST_CASE("xqa merge: a NaN split makes the row NaN") {
  Splits s({0.0f, std::numeric_limits<float>::quiet_NaN(), 0.0f}, {1.0f, 1.0f, 1.0f});
  s.decode();
  CHECK(s.is_all_nan());
}

TEST_CASE("xqa merge: the counter of a merged row is its splits times their ticket") {
  Splits s({0.0f, 0.0f, 0.0f}, {1.0f, 1.0f, 1.0f});
  s.decode();
  CHECK(static_cast<std::uint32_t>(*s.run.decode.counters) == 3 * split_ticket(3));
}

TEST_CASE("xqa merge: a counter that does not start at zero leaves the row NaN instead of plausible") {
  const std::uint32_t starts[] = {1, 2, 0xFFFFFFFFu, 0x7F7F7F7Fu, 0xFFFFFFFDu};
  Splits s({0.0f, 0.0f, 0.0f}, {1.0f, 1.0f, 1.0f});
  const auto check_start = [&](std::uint32_t start) {
    INFO("start " << start);
    s.decode();
    CHECK(s.out[0] == 1.0f);  // and so are the partials, which a merge that came early would find
    s.decode(start);
    CHECK(s.is_all_nan());
  };
  for (const std::uint32_t start : starts) check_start(start);
  for (std::uint32_t left = 2; left <= kRoom; ++left) check_start(left * split_ticket(left));  // by the replay before
  s.decode(2 * split_ticket(3));  // the header's exception: as if two of three splits were in already
  CHECK(s.out[0] == 1.0f);
}

TEST_CASE("xqa merge: what a run of one count of splits leaves in a counter completes none of another count early") {
  constexpr std::uint32_t kMost = 1024;
  std::vector<std::uint32_t> left;
  for (std::uint32_t splits = 2; splits <= kMost; ++splits) left.push_back(splits * split_ticket(splits));
  std::size_t early = 0;
  for (std::uint32_t splits = 2; splits <= kMost; ++splits) {
    REQUIRE(split_ticket(splits) % 2 == 1);
    // A counter that starts at g completes with its k-th split when g + k tickets are `splits` tickets.
    std::set<std::uint32_t> missing;
    for (std::uint32_t k = 1; k < splits; ++k) missing.insert(k * split_ticket(splits));
    for (const std::uint32_t value : left) early += missing.count(value);
  }
  CHECK(early == 0);
}

TEST_CASE("xqa merge: rows of one split or none go by no counter and touch neither it nor a partial") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({3, 0, 256, 257}, 16), rng);
  XqaRun run(scene, {.dense = true});
  plan_xqa.host(run.plan);
  std::fill_n(run.decode.counters, 3 * 6, 77);
  xqa_decode.host(run.decode);
  require_right(scene, run, all_rows(scene, true));
  require_empty_row(scene, run, 1);
  for (int i = 0; i < 3 * 6; ++i) CHECK(run.decode.counters[i] == 77);
  const auto* lse = reinterpret_cast<const std::uint32_t*>(run.decode.partial_lse);
  for (int i = 0; i < 4 * 6 * 9; ++i) CHECK((lse[i] == 0xFFFFFFFFu) == (i < 3 * 6 * 9 || i % 9 >= 2));
}

TEST_CASE("xqa merge: fewer active splits than a row needs leave it NaN and its neighbours right") {
  Rng rng(fresh_seed());
  Scene scene(one_row_each({700, 500, 0, 20}, 16), rng);
  XqaRun run(scene, {.dense = true});
  plan_xqa.host(run.plan);
  *run.plan.active_partitions = 2;
  xqa_decode.host(run.decode);
  for (std::int64_t i = 0; i < 6 * 256; ++i) REQUIRE(is_nan(run.decode.out, Dtype::fp16, i));
  for (int head = 0; head < 6; ++head) CHECK(std::isnan(run.decode.lse[head]));
  require_right(scene, run,
                {scene.oracle_row(1, scene.visible_tokens(1)), scene.oracle_row(3, scene.visible_tokens(3))});
  require_empty_row(scene, run, 2);
}

TEST_CASE("xqa merge: the contract writes partials and out and reads neither") {
  Rng rng(fresh_seed());
  Scene scene({.lengths = {300}, .rows = {5}, .pad_rows = 4, .dim = kDim}, rng);
  for (const std::int32_t group_rows : {0, 8}) {
    XqaRun run(scene, {.dense = true, .group_rows = group_rows});
    const auto of = [&](const void* data) {
      std::vector<Access> found;
      for (const Access& access : xqa_decode.contract(run.decode).accesses)
        if (access.base == reinterpret_cast<Address>(data)) found.push_back(access);
      return found;
    };
    for (const void* scratch :
         {static_cast<const void*>(run.decode.partials), static_cast<const void*>(run.decode.partial_lse)}) {
      REQUIRE(of(scratch).size() == 1);
      CHECK(of(scratch)[0].mode == Mode::write);
      CHECK(of(scratch)[0].reach == Reach::may);
    }
    for (const void* output : {static_cast<const void*>(run.decode.out), static_cast<const void*>(run.decode.lse)}) {
      REQUIRE(of(output).size() == 1);
      CHECK(of(output)[0].mode == Mode::write);
      CHECK(of(output)[0].reach == (group_rows == 0 ? Reach::exact : Reach::may));
    }
    CHECK(of(run.decode.slot_rows).size() == (group_rows == 0 ? 0 : 1));
  }
}
