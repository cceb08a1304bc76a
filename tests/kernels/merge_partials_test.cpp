// merge_partials alone, on splits written by hand.
#include "kernels/merge_partials.hpp"

#include <cmath>
#include <limits>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/memory.hpp"

using namespace refrain;

namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();

/// One row, one head, four splits of 100 tokens, dim 2; everything unwritten is NaN.
struct Merge {
  explicit Merge(std::int32_t length, std::int32_t counted) {
    *lengths = length;
    *counters = counted;
    *slot_rows = 0;
    args = {.partials = partials,
            .partial_lse = lse,
            .counters = counters,
            .slot_rows = slot_rows,
            .lengths = lengths,
            .slots = 1,
            .heads = 1,
            .partitions = 4,
            .partition_tokens = 100,
            .dim = 2,
            .bucket = 1,
            .out_dtype = Dtype::fp32,
            .out = out,
            .lse = out_lse};
  }
  void put(int split, float value, float split_lse) {
    partials[2 * split] = value;
    partials[2 * split + 1] = -value;
    lse[split] = split_lse;
  }

  test::Memory memory;
  float* partials = memory.take<float>(8);
  float* lse = memory.take<float>(4);
  std::int32_t* counters = memory.take<std::int32_t>(1);
  std::int32_t* slot_rows = memory.take<std::int32_t>(1);
  std::int32_t* lengths = memory.take<std::int32_t>(1);
  float* out = memory.take<float>(2);
  float* out_lse = memory.take<float>(1);
  MergePartialsArgs args;
};

}  // namespace

TEST_CASE("merge_partials: splits weigh by the exponential of their LSE, unwritten ones not at all") {
  Merge m(250, 3);
  m.put(0, 1.0f, std::log(1.0f));
  m.put(1, 2.0f, std::log(2.0f));
  m.put(2, 4.0f, std::log(5.0f));
  merge_partials.host(m.args);
  CHECK(m.out[0] == Approx((1.0 * 1 + 2.0 * 2 + 5.0 * 4) / 8));
  CHECK(m.out[1] == -m.out[0]);
  CHECK(*m.out_lse == Approx(std::log(8.0)));
}

TEST_CASE("merge_partials: LSE far apart and far from zero do not overflow") {
  Merge m(200, 2);
  m.put(0, 3.0f, -2000.0f);
  m.put(1, 5.0f, 3000.0f);
  merge_partials.host(m.args);
  CHECK(m.out[0] == 5.0f);  // exp(-5000) is 0 in any float
  CHECK(*m.out_lse == 3000.0f);
}

TEST_CASE("merge_partials: length 0 gives 0 and -inf without reading a split") {
  Merge m(0, 0);
  merge_partials.host(m.args);
  CHECK(m.out[0] == 0.0f);
  CHECK(m.out[1] == 0.0f);
  CHECK(*m.out_lse == kNegativeInf);
}

TEST_CASE("merge_partials: one split too few or too many is NaN") {
  for (const std::int32_t counted : {-1, 0, 1, 3, 0x7F7F7F7F}) {
    Merge m(200, counted);
    m.put(0, 1.0f, 0.0f);
    m.put(1, 1.0f, 0.0f);
    merge_partials.host(m.args);
    CHECK(std::isnan(m.out[0]));
    CHECK(std::isnan(m.out[1]));
    CHECK(std::isnan(*m.out_lse));
  }
}

TEST_CASE("merge_partials: a NaN split that counts makes the row NaN") {
  Merge m(200, 2);
  m.put(0, 1.0f, 0.0f);
  m.put(1, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::quiet_NaN());
  merge_partials.host(m.args);
  CHECK(std::isnan(m.out[0]));
  CHECK(std::isnan(*m.out_lse));
}
