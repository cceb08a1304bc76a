// The graph cache where things go wrong: graphs that are not admitted, steps that throw,
// and every driver call failed in turn.
#include <optional>
#include <stdexcept>

#include "runtime/failing_driver.hpp"
#include "runtime/graph_cache.hpp"
#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/cache_world.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("graph cache: a capture that fails names its first violation and runs eagerly and says so each time") {
  HostDriver host;
  CacheWorld w(host);
  w.syncs = {3};
  const WarmUp warm = w.warm_up(4);
  CHECK(warm.ready == 3);
  REQUIRE(warm.eager.size() == 1);
  CHECK(warm.eager[0].first.rows == 3);
  CHECK(warm.eager[0].second.find("cudaStreamSynchronize") != std::string::npos);
  CHECK(warm.eager[0].second.find("(900)") != std::string::npos);
  CHECK(host.census().captures == 0);
  CHECK(w.fallbacks.empty());
  for (int i = 0; i < 2; ++i) CHECK(w.run(3, 3) == Outcome{Served::fallback, true});
  CHECK(w.run(4, 4) == Outcome{Served::hit, true});
  CHECK(w.fallbacks == std::vector<std::pair<std::int32_t, std::string>>(2, {3, warm.eager[0].second}));
  const CacheStats stats = w.cache->stats();
  CHECK(stats.fallbacks.reasons == Reasons{{warm.eager[0].second, 2}});
  CHECK(stats.captures.reasons == Reasons{{"instantiated", 3}, {warm.eager[0].second, 1}});
  CHECK(graph_of(stats, "decode rows=3").eager == warm.eager[0].second);
}

TEST_CASE("graph cache: it goes during a global capture of another stream, which stays whole") {
  HostDriver host;
  CacheWorld w(host);
  w.warm_up(2);
  CHECK(w.run(2, 2) == Outcome{Served::hit, true});
  const OwnedStream capturing(host);
  check(host.begin_capture(capturing, CaptureMode::global), "cudaStreamBeginCapture");
  w.cache.reset();
  GraphHandle graph;
  CHECK(host.end_capture(capturing, graph) == Status::success);
  CHECK(host.destroy(graph) == Status::success);
}

TEST_CASE("graph cache: a graph with an error in its audit is not admitted") {
  HostDriver host;
  CacheWorld w(host);
  w.unzeroed = {2};
  const WarmUp warm = w.warm_up(2);
  REQUIRE(warm.eager.size() == 1);
  CHECK(warm.eager[0].second.find("RF301 scratch-not-zeroed") == 0);
  CHECK(host.census().execs == 1);
  CHECK(w.run(2, 2) == Outcome{Served::fallback, true});
  w.unzeroed.clear();
  CHECK(w.run(2, 2) == Outcome{Served::fallback, true});  // a mark stays until it is taken away
  w.cache->forget(w.key(2));
  CHECK(w.run(2, 2) == Outcome{Served::recapture, true});
  CHECK(w.run(2, 2) == Outcome{Served::hit, true});
}

TEST_CASE("graph cache: a graph that names memory which its key leaves out is not admitted") {
  HostDriver host;
  CacheWorld w(host);
  StepKey key = w.key(2);
  std::erase(key.leases, w.registry[w.out.id()].allocation);
  CHECK(w.cache->run(key, 2) == Served::fallback);
  REQUIRE(w.fallbacks.size() == 1);
  CHECK(w.fallbacks[0].second == "the graph names out (allocation 2), which its key does not");
}

TEST_CASE("graph cache: an exception of the step goes on to the caller and leaves the cache whole") {
  HostDriver host;
  CacheWorld w(host);
  w.throws = {2};
  CHECK_THROWS_AS(w.warm_up(3), std::runtime_error);
  CHECK_THROWS_AS(w.cache->run(w.key(2), 2), std::runtime_error);
  CHECK(host.census().captures == 0);
  CHECK(host.census().graphs == 0);
  CHECK(w.run(3, 3) == Outcome{Served::hit, true});
  w.throws.clear();
  CHECK(w.run(2, 2) == Outcome{Served::recapture, true});
}

namespace {

/// A lookup either gives the right bytes or throws what the driver said.
void attempt(CacheWorld& w, std::int32_t rows) {
  std::optional<Outcome> outcome;
  try {
    outcome = w.run(rows, rows);
  } catch (const Error& error) {
    CHECK(error.status() == static_cast<int>(Status::memory_allocation));
  }
  if (outcome) CHECK(outcome->second);
}

/// Warm-up, lookups, replaced leases, evictions: whatever the cache can do.
void use_everything(CacheWorld& w) {
  (void)w.warm_up(4);
  for (const std::int32_t rows : {1, 2, 3, 4, 1}) attempt(w, rows);
  w.out = w.arena.lease({"out", kBytes, Role::output, Dtype::u8});
  for (const std::int32_t rows : {4, 4, 2}) attempt(w, rows);
  w.nodes = 3;
  try {
    w.cache->forget(w.key(4));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::driver);
  }
  attempt(w, 4);
}

}  // namespace

namespace {

/// Whether the failure of the N-th call came before the cache was made, in all that it did, or not at all.
enum class Failed : std::uint8_t { early, during, never };

Failed fail_call(HostDriver& host, std::uint64_t at) {
  FailingDriver driver(host, at);
  std::optional<CacheWorld> made;
  try {
    made.emplace(driver, 3 * kTwoNodes);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::driver);
    return Failed::early;
  }
  CacheWorld& w = *made;
  use_everything(w);
  if (!driver.failed()) return Failed::never;
  CHECK(host.census().captures == 0);
  CHECK(host.census().graphs == 0);
  // Whatever runs eagerly now has a graph again when it is forgotten.
  for (const std::int32_t rows : {1, 2, 3, 4}) {
    CHECK(w.run(rows, rows).second);
    w.cache->forget(w.key(rows));
    const Outcome again = w.run(rows, rows);
    CHECK((again.first == Served::recapture || again.first == Served::update));
    CHECK(again.second);
  }
  CHECK(host.census().execs == 2);  // of three nodes each, in a budget of six
  for (const auto& [rows, reason] : w.fallbacks)
    CHECK(reason.find("cudaErrorMemoryAllocation (2)") != std::string::npos);
  return Failed::during;
}

}  // namespace

TEST_CASE("graph cache: every driver call may fail and nothing leaks and the cache serves on") {
  std::uint64_t at = 1, during = 0;
  for (Failed failed = Failed::early; failed != Failed::never; ++at) {
    INFO("call " << at);
    HostDriver host;
    failed = fail_call(host, at);
    if (failed == Failed::during) ++during;
    CHECK(host.census() == HostDriver::Census{});
  }
  CHECK(during > 100);
}

TEST_CASE("graph cache: while the arena sleeps nothing is run and afterwards each key is prepared again") {
  HostDriver host;
  CacheWorld w(host);
  w.syncs = {1};
  (void)w.warm_up(3);
  w.arena.sleep();
  for (const std::int32_t rows : {1, 2, 4}) {  // eager, with a graph, and one that nobody knows
    try {
      (void)w.cache->run(w.key(rows), rows);
      FAIL("the arena sleeps");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::refused);
    }
  }
  CHECK_THROWS_AS(w.warm_up(4), Error);
  CHECK(w.fallbacks.empty());
  w.arena.wake();
  const auto prepared = [&] {
    const auto* state = w.state.as<std::uint8_t>();
    return std::all_of(state, state + 16, [](std::uint8_t byte) { return byte == 0; });
  };
  for (const std::int32_t rows : {2, 1, 3}) {
    std::fill_n(w.state.as<std::uint8_t>(), 16, std::uint8_t{0xFF});  // as fresh memory may be
    CHECK(w.run(rows, rows) == Outcome{rows == 1 ? Served::fallback : Served::hit, true});
    CHECK(prepared());
    std::fill_n(w.state.as<std::uint8_t>(), 16, std::uint8_t{0xFF});
    (void)w.run(rows, rows);
    CHECK_FALSE(prepared());  // once is enough
  }
}
