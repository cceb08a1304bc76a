// The named faults on the device fail as their reports say, and as the twins do;
// the same scenes without the fault are right.
#include <cmath>

#include "tests/gpu/mla_on_device.hpp"
#include "tests/kernels/mla_reports.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("sparse_mla on the GPU: a max that starts at -inf makes a row of NaN of a leading masked chunk") {
  Rng rng(fresh_seed());
  for (const MlaRoute route : kMlaRoutes) {
    MlaScene scene = masked_chunks(64, rng);
    run_on_device(scene, route);
    require_right(scene);
    scene.args.faults.neg_inf_max = true;
    run_on_device(scene, route);
    CHECK(scene.is_nan_row(0));
    CHECK_FALSE(scene.is_nan_row(1));
    CHECK(scene.is_nan_row(2));
    CHECK(std::isnan(scene.args.lse[0]));
  }
}

TEST_CASE("sparse_mla on the GPU: with -1 clamped to slot 0 the NaN rows are those that carry a -1") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Rng rng(seed);
  for (const Slot0 content : {Slot0::ones, Slot0::random, Slot0::zeros}) {
    for (const MlaRoute route : kMlaRoutes) {
      const std::int32_t rows = route == MlaRoute::prefill ? kMlaDecodeRows + 1 : kMlaDecodeRows;
      MlaScene scene = one_page(rows, content, rng);
      CAPTURE(static_cast<int>(content), rows);
      run_on_device(scene, route);
      require_right(scene);
      scene.args.faults.clamp_to_slot0 = true;
      run_on_device(scene, route);
      if (content == Slot0::zeros) {
        require_right(scene);
        continue;
      }
      std::int32_t nan_rows = 0;
      for (std::int32_t row = 0; row < rows; ++row) {
        CHECK(scene.is_finite_row(row) == (row % 3 == 0));
        nan_rows += scene.is_finite_row(row) ? 0 : 1;
        if (content == Slot0::ones) CHECK(scene.is_nan_row(row) == (row % 3 != 0));
      }
      CHECK(nan_rows == (rows == 65 ? 43 : 42));
    }
  }
}

TEST_CASE("sparse_mla on the GPU: a sentinel that is scaled after masking returns slot 0 for an empty row") {
  Rng rng(fresh_seed());
  for (const MlaRecord record : kMlaRecords) {
    MlaScene scene({.rows = 2, .heads = 8, .topk = 128, .record = record}, rng);
    scene.put_random(1, 64, 128, rng);
    scene.fill_attended(rng);
    scene.fill_slot(0, rng);
    scene.args.faults = {.clamp_to_slot0 = true, .mask_before_scale = true};
    const std::vector<double> slot0 = mla_oracle_record(scene.args.pool, 0);
    for (const MlaRoute route : kMlaRoutes) {
      run_on_device(scene, route);
      for (std::size_t d = 0; d < 512; ++d)
        REQUIRE(scene.out_value(static_cast<std::int64_t>(d)) == Approx(slot0[d]).epsilon(0.005));
      CHECK(scene.args.lse[0] < -1e28f);
      CHECK(std::isfinite(scene.args.lse[0]));
    }
  }
}

TEST_CASE("sparse_mla on the GPU: lengths ignored let stale ids in") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 2, .heads = 8, .topk = 64}, rng);
  scene.put_random(0, 0, 40, rng);
  scene.put_random(1, 0, 64, rng);
  scene.lengths[0] = 40;
  scene.fill_attended(rng);
  scene.list(0)[50] = 0;  // a stale id; its record holds NaN
  for (const MlaRoute route : kMlaRoutes) {
    scene.args.faults.past_length = false;
    run_on_device(scene, route);
    require_right(scene);
    scene.args.faults.past_length = true;
    run_on_device(scene, route);
    CHECK(scene.is_nan_row(0));
    CHECK(scene.is_finite_row(1));
  }
}

TEST_CASE("sparse_mla on the GPU: an empty split merged by weight 0 makes NaN of what nothing wrote") {
  Rng rng(fresh_seed());
  MlaScene scene({.rows = 2, .heads = 8, .topk = 192}, rng);
  scene.put_random(0, 64, 128, rng);
  scene.put_random(1, 0, 192, rng);
  scene.fill_attended(rng);
  scene.merge.empty_by_value = true;
  run_on_device(scene, MlaRoute::decode);
  CHECK(scene.is_nan_row(0));
  CHECK_FALSE(scene.is_nan_row(1));
}
