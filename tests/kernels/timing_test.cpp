// How long the twins take; hidden, since a time is no assertion: run with [.timing].
#include <algorithm>
#include <chrono>

#include "tests/catch.hpp"
#include "tests/kernels/scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// The best of five, in milliseconds.
template <class Run>
double best_ms(Run run) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

TEST_CASE("timing: 19 rows at 2048 tokens, 6 heads, dim 256, E4M3", "[.timing]") {
  Rng rng(1);
  Scene scene({}, rng);
  scene.select(rng);
  GroupedRun grouped(scene);
  XqaRun rest(scene, {.group_rows = 8}), all(scene, {});
  const double plan = best_ms([&] { plan_grouped.host(grouped.plan); });
  const double attention = best_ms([&] { grouped.run(true, true); }) - plan;
  WARN("plan_grouped " << plan << " ms, pad_fix + grouped_attention (16 rows) " << attention
                       << " ms, xqa route (3 rows) " << best_ms([&] { rest.run(); }) << " ms, xqa route (19 rows) "
                       << best_ms([&] { all.run(); }) << " ms");
}
