// merge_mla alone, on splits written by hand; everything unwritten is NaN.
#include "kernels/merge_mla.hpp"

#include <cmath>
#include <limits>

#include "kernels/codec.hpp"
#include "kernels/mla_pool_view.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/memory.hpp"

using namespace refrain;

namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Two rows, one head, four splits: every split empty.
struct Merge {
  Merge() {
    std::fill_n(lse, 8, kNegativeInf);
    std::fill_n(max, 8, kNegativeInf);
    *real_rows = 1;
    args = {.partials = partials,
            .partial_lse = lse,
            .partial_max = max,
            .real_rows = real_rows,
            .rows = 2,
            .heads = 1,
            .splits = 4,
            .out = out,
            .lse = out_lse,
            .max_logits = out_max};
  }
  void put(std::int64_t split, float value, float split_lse, float split_max) {
    for (std::int64_t d = 0; d < kMlaValueDim; ++d) partials[split * kMlaValueDim + d] = d % 2 == 0 ? value : -value;
    lse[split] = split_lse;
    max[split] = split_max;
  }
  [[nodiscard]] float value(std::int64_t d) const { return load_as_float(out, Dtype::bf16, d); }

  test::Memory memory;
  float* partials = memory.take<float>(8 * kMlaValueDim);
  float* lse = memory.take<float>(8);
  float* max = memory.take<float>(8);
  float* sinks = memory.take<float>(1);
  std::int32_t* real_rows = memory.take<std::int32_t>(1);
  std::byte* out = memory.take_bytes(2 * 2 * kMlaValueDim);
  float* out_lse = memory.take<float>(2);
  float* out_max = memory.take<float>(2);
  MergeMlaArgs args;
};

}  // namespace

TEST_CASE("merge_mla: splits weigh by the exponential of their LSE and empty ones are not loaded") {
  Merge m;
  m.put(0, 1.0f, std::log(1.0f), -3.0f);
  m.put(2, 5.0f, std::log(3.0f), 0.5f);  // splits 1 and 3 are empty: their partials are NaN
  test::run_checked(merge_mla, m.args, m.memory);
  CHECK(m.value(0) == 4.0f);
  CHECK(m.value(511) == -4.0f);
  CHECK(m.out_lse[0] == Approx(std::log(4.0)));
  CHECK(m.out_max[0] == 0.5f);
}

TEST_CASE("merge_mla: an empty split that is multiplied by weight 0 all the same makes the row NaN") {
  Merge m;
  m.put(0, 1.0f, 0.0f, 0.0f);
  m.args.empty_by_value = true;
  merge_mla.host(m.args);
  for (std::int64_t d = 0; d < kMlaValueDim; ++d) REQUIRE(std::isnan(m.value(d)));
  CHECK(m.out_lse[0] == 0.0f);  // the weights are right; only the buffer behind weight 0 is not
}

TEST_CASE("merge_mla: all splits empty give zeros and -inf or the sink") {
  Merge m;
  merge_mla.host(m.args);
  CHECK(m.value(0) == 0.0f);
  CHECK(m.out_lse[0] == kNegativeInf);
  CHECK(m.out_max[0] == kNegativeInf);
  m.args.sinks = m.sinks;
  *m.sinks = -7.25f;
  merge_mla.host(m.args);
  CHECK(m.value(0) == 0.0f);
  CHECK(m.out_lse[0] == -7.25f);
  CHECK(m.out_max[0] == kNegativeInf);
}

TEST_CASE("merge_mla: a sink takes its share once and is not in the largest logit") {
  Merge m;
  m.args.sinks = m.sinks;
  *m.sinks = std::log(4.0f);
  m.put(1, 2.0f, std::log(1.0f), 1.0f);
  m.put(3, 6.0f, std::log(3.0f), 2.0f);
  merge_mla.host(m.args);
  CHECK(m.value(0) == 2.5f);  // (1 * 2 + 3 * 6) / (1 + 3 + 4)
  CHECK(m.out_lse[0] == Approx(std::log(8.0)));
  CHECK(m.out_max[0] == 2.0f);
}

TEST_CASE("merge_mla: a pad row is zeros and -inf whatever its splits and the sink say") {
  Merge m;
  m.args.sinks = m.sinks;
  *m.sinks = 1.0f;
  m.put(4, kNan, kNan, kNan);
  m.put(5, 3.0f, 0.0f, 0.0f);
  test::run_checked(merge_mla, m.args, m.memory);
  for (std::int64_t d = 0; d < kMlaValueDim; ++d) REQUIRE(m.value(kMlaValueDim + d) == 0.0f);
  CHECK(m.out_lse[1] == kNegativeInf);
  CHECK(m.out_max[1] == kNegativeInf);
  m.args.real_rows = nullptr;  // without the count every row is real
  merge_mla.host(m.args);
  CHECK(std::isnan(m.value(kMlaValueDim)));
}

TEST_CASE("merge_mla: LSE far apart and far from zero do not overflow") {
  Merge m;
  m.put(0, 3.0f, -2000.0f, -2000.0f);
  m.put(1, 5.0f, 3000.0f, 3000.0f);
  merge_mla.host(m.args);
  CHECK(m.value(0) == 5.0f);  // exp(-5000) is 0 in any float
  CHECK(m.out_lse[0] == 3000.0f);
}

TEST_CASE("merge_mla: a split whose LSE is NaN makes the row NaN") {
  Merge m;
  m.put(0, 1.0f, 0.0f, 0.0f);
  m.put(1, kNan, kNan, 0.0f);
  merge_mla.host(m.args);
  CHECK(std::isnan(m.value(0)));
  CHECK(std::isnan(m.out_lse[0]));
}
