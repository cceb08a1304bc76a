// How many NaN a null block of NaN makes of a grouped step without any protection: it follows from
// the padding of the plan alone, and public reports gave the numbers.
#include <map>

#include "kernels/plan_grouped.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/plan_reference.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

SceneShape small(std::vector<std::int32_t> lengths, std::vector<std::int32_t> rows) {
  return {.lengths = std::move(lengths), .rows = std::move(rows), .dim = 8};
}

std::int64_t nan_of(const SceneShape& shape, bool one_position = false) {
  Rng rng(1);  // the geometry decides the count; the data does not
  Scene scene(shape, rng);
  if (one_position)
    for (std::int32_t row = 0; row < *scene.rows; ++row)
      scene.query_pos[row] = scene.seq_len[scene.token_to_req[row]] - 1;
  scene.select_first();
  GroupedRun run(scene);
  plan_grouped.host(run.plan);
  return expected_nan(run.plan, 5);
}

}  // namespace

TEST_CASE("plan_grouped: the NaN counts of the first report follow from the plan") {
  CHECK(nan_of(small({2048}, {19})) == 480);
  CHECK(nan_of(small({400}, {19})) == 400);
  CHECK(nan_of(small({1000}, {19})) == 400);
  CHECK(nan_of(small({2048, 2048, 2048}, {8, 8, 8})) == 720);
  for (const std::int32_t context : {1024, 2048, 8192}) CHECK(nan_of(small({context}, {19}), true) == 0);
}

TEST_CASE("plan_grouped: 19 requests at one position need no padding") {
  SceneShape shape = small({}, {});
  for (int i = 0; i < 19; ++i) {
    shape.lengths.push_back(1024);
    shape.rows.push_back(1);
  }
  CHECK(nan_of(shape, true) == 0);
}

TEST_CASE("plan_grouped: over every context from 19 to 2999, 480 NaN in 2469, 400 in 384 and 320 in 128") {
  std::map<std::int64_t, int> contexts;
  Rng rng(1);
  Scene scene(small({3000}, {19}), rng);
  GroupedRun run(scene);
  for (std::int32_t context = 19; context <= 2999; ++context) {
    scene.seq_len[0] = context;
    for (std::int32_t row = 0; row < 19; ++row) scene.query_pos[row] = context - 19 + row;
    scene.select_first();
    plan_grouped.host(run.plan);
    ++contexts[expected_nan(run.plan, 5)];
  }
  CHECK(contexts == std::map<std::int64_t, int>{{480, 2469}, {400, 384}, {320, 128}});
}
