// The attention-only model on the device and on the host driver, fed the same tokens.
// That captured steps are clean and replay as eager ones, and the fp64 comparison, are
// the host's own tests, built for this driver too.
#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/model/attention_only_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Two requests through every phase. The tokens are given, so that a draw that fell apart does not end the comparison.
std::vector<std::vector<float>> serve(Driver& driver, const AttentionOnlyShape& shape, std::uint64_t seed) {
  AttentionOnlyWorld world(driver, shape, attention_only_limits());
  world.replay = true;
  Random random(seed);
  ModelRequest a = world.request(88, random), b = world.request(31, random);
  std::vector<std::vector<float>> logits;
  const auto keep = [&](const ModelResult& result, std::ptrdiff_t rows) {
    logits.insert(logits.end(), result.logits.begin(), result.logits.begin() + rows);
  };
  (void)world.prefill({{&a, 70}, {&b, 17}}, 90, 2);
  (void)world.prefill({{&a, 14}, {&b, 10}}, 25, 3);
  for (int step = 0; step < 3; ++step) keep(world.decode({&a, &b}, 4), 2);
  keep(world.verify({{&a, 1, {3, 4, 5}}, {&b, 1, {6, 7, 8}}}, 3, 3), 8);
  return logits;
}

}  // namespace

TEST_CASE("attention_only on the device: logits of every phase agree with the host driver's") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  for (const AttentionOnlyCase& c : kAttentionOnlyCases) {
    const auto driver = make_test_driver();
    if (!has_gemm(*driver)) return;
    HostDriver host;
    const AttentionOnlyShape shape = small_attention_only(c, seed);
    const auto want = serve(host, shape, seed), got = serve(*driver, shape, seed);
    REQUIRE(got.size() == want.size());
    for (std::size_t row = 0; row < want.size(); ++row) {
      CAPTURE(to_string(c.kv), static_cast<int>(c.record), row);
      const std::vector<double> exact(want[row].begin(), want[row].end());
      CHECK(attention_only_distance(got[row], exact, c.kv) <= 2);  // both lie within 1 of fp64
    }
  }
}
