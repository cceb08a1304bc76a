// The named faults of sparse MLA, each seen to fail as its report says: masked
// chunks that turn a row into NaN, and slot 0's bytes that reach every row with a
// -1. The same scenes without the fault are right.
#include <climits>
#include <cmath>
#include <cstring>

#include "kernels/codec.hpp"
#include "kernels/sparse_mla.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/mla_reports.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("sparse_mla faults: a max that starts at -inf makes a row of NaN of every leading masked chunk") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const std::int32_t chunk : {16, 32, 64}) {
    MlaScene scene = masked_chunks(chunk, rng);
    scene.args.faults.neg_inf_max = true;
    scene.run(MlaRoute::prefill);
    CHECK(scene.is_nan_row(0));
    CHECK_FALSE(scene.is_nan_row(1));
    CHECK(scene.is_nan_row(2));
    CHECK(std::isnan(scene.args.lse[0]));
    scene.run(MlaRoute::decode);
    CHECK(scene.is_nan_row(0));
    CHECK_FALSE(scene.is_nan_row(1));
    CHECK(scene.is_nan_row(2));
    scene.args.faults = {};
    for (const MlaRoute route : kMlaRoutes) {
      scene.run(route);
      require_right(scene);
    }
  }
}

TEST_CASE("sparse_mla faults: a leading chunk that is wide enough to hold a valid entry hides that fault") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 1, .heads = 8, .topk = 128, .chunk = 64}, rng);
  scene.put_random(0, 16, 48, rng);  // the report's row 0: of its two chunks the first holds entries
  scene.fill_attended(rng);
  scene.args.faults.neg_inf_max = true;
  scene.run(MlaRoute::prefill);
  require_right(scene);
}

TEST_CASE("sparse_mla faults: with -1 clamped to slot 0 the NaN rows are those that carry a -1") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Slot0 content : {Slot0::ones, Slot0::random, Slot0::zeros}) {
    for (const MlaRoute route : kMlaRoutes) {
      const std::int32_t rows = route == MlaRoute::prefill ? kMlaDecodeRows + 1 : kMlaDecodeRows;
      MlaScene scene = one_page(rows, content, rng);
      CAPTURE(static_cast<int>(content), rows);
      scene.run(route);
      require_right(scene);
      scene.args.faults.clamp_to_slot0 = true;
      scene.run(route);
      if (content == Slot0::zeros) {
        require_right(scene);
        continue;
      }
      std::int32_t nan_rows = 0;
      for (std::int32_t row = 0; row < rows; ++row) {
        const bool finite = scene.is_finite_row(row);
        CHECK(finite == (row % 3 == 0));
        nan_rows += finite ? 0 : 1;
        if (content == Slot0::ones) CHECK(scene.is_nan_row(row) == (row % 3 != 0));
      }
      CHECK(nan_rows == (rows == 65 ? 43 : 42));
    }
  }
}

TEST_CASE("sparse_mla faults: a sentinel that is scaled after masking weighs every key of an empty row as 1") {
  Rng rng(fresh_seed());
  for (const MlaRecord record : kMlaRecords) {
    MlaScene scene({.rows = 2, .heads = 8, .topk = 128, .record = record}, rng);
    scene.put_random(1, 64, 128, rng);  // row 0 has nothing, row 1 a leading masked chunk
    scene.fill_attended(rng);
    scene.fill_slot(0, rng);
    scene.args.faults = {.clamp_to_slot0 = true, .mask_before_scale = true};
    const std::vector<double> slot0 = mla_oracle_record(scene.args.pool, 0);
    for (const MlaRoute route : kMlaRoutes) {
      scene.run(route);
      for (std::size_t d = 0; d < 512; ++d)
        REQUIRE(scene.out_value(static_cast<std::int64_t>(d)) == Approx(slot0[d]).epsilon(0.005));
      CHECK(scene.args.lse[0] < -1e28f);
      CHECK(std::isfinite(scene.args.lse[0]));
    }
    scene.run(MlaRoute::prefill);  // a real key makes the leading chunk's weight 0 again
    scene.args.faults = {};
    const std::vector<std::byte> before(static_cast<std::byte*>(scene.args.out) + 2 * scene.row_values(),
                                        static_cast<std::byte*>(scene.args.out) + 4 * scene.row_values());
    scene.run(MlaRoute::prefill);
    CHECK(std::memcmp(before.data(), static_cast<std::byte*>(scene.args.out) + 2 * scene.row_values(), before.size()) ==
          0);
    CHECK(scene.is_empty_row(0));
  }
}

TEST_CASE("sparse_mla faults: lengths ignored let stale ids in") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 2, .heads = 8, .topk = 64}, rng);
  scene.put_random(0, 0, 40, rng);
  scene.put_random(1, 0, 64, rng);
  scene.lengths[0] = 40;
  scene.fill_attended(rng);
  scene.list(0)[50] = 0;  // a stale id; its record holds NaN
  scene.list(0)[51] = INT_MAX;
  for (const MlaRoute route : kMlaRoutes) {
    scene.args.faults.past_length = false;
    scene.run(route);
    require_right(scene);
    scene.args.faults.past_length = true;
    scene.run(route);
    CHECK(scene.is_nan_row(0));
    CHECK(scene.is_finite_row(1));
  }
}

TEST_CASE("sparse_mla faults: an empty split that is merged by weight 0 makes NaN of what nothing wrote") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 2, .heads = 8, .topk = 192}, rng);
  scene.put_random(0, 64, 128, rng);  // splits 0 and 2 are empty
  scene.put_random(1, 0, 192, rng);
  scene.fill_attended(rng);
  scene.merge.empty_by_value = true;
  scene.run(MlaRoute::decode);
  CHECK(scene.is_nan_row(0));
  CHECK_FALSE(scene.is_nan_row(1));
  scene.merge.empty_by_value = false;
  scene.run(MlaRoute::decode);
  require_right(scene);
}
