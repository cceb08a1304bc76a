// The graph cache: what is served how, with which reason, and how it prints.
#include "runtime/graph_cache.hpp"

#include <nlohmann/json.hpp>

#include "runtime/failing_driver.hpp"
#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/cache_world.hpp"
#include "tests/runtime/shown_driver.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("graph cache: a warm-up captures every bucket of the policy with the largest first") {
  HostDriver host;
  CacheWorld w(host);
  std::vector<std::string> names;
  const WarmUp warm = w.warm_up(4, [&](std::size_t done, std::size_t total, const std::string& name) {
    CHECK(done == names.size());
    CHECK(total == 4);
    names.push_back(name);
  });
  CHECK(names == std::vector<std::string>{"decode rows=4", "decode rows=3", "decode rows=2", "decode rows=1", ""});
  CHECK(w.recorded == std::vector<std::int32_t>{4, 3, 2, 1});
  CHECK(warm.ready == 4);
  CHECK(warm.left_out == 0);
  CHECK(warm.eager.empty());
  CHECK(host.census().execs == 4);
  CHECK(host.census().graphs == 0);  // an instantiated graph needs its template no more
  const CacheStats stats = w.cache->stats();
  CHECK(stats.captures.reasons == Reasons{{"instantiated", 4}});
  CHECK(stats.lookups() == 0);
  CHECK(stats.bytes == 4 * kTwoNodes);
  CHECK(stats.bytes_estimated == stats.bytes);
  CHECK(w.warm_up(4).ready == 4);
  CHECK(w.recorded.size() == 4);  // what is there is not captured again
}

TEST_CASE("graph cache: lookups are hits with their pads counted by bucket") {
  HostDriver host;
  CacheWorld w(host);
  (void)w.warm_up(24);
  const BucketPolicy policy = BucketPolicy::decode_rows(24);
  for (const std::int32_t rows : {24, 23, 23, 21, 3}) {
    CHECK(w.run(policy.bucket_for(rows), rows) == Outcome{Served::hit, true});
  }
  const CacheStats stats = w.cache->stats();
  CHECK(stats.hits.count == 5);
  CHECK(stats.hits.reasons == Reasons{{"exact", 2}, {"padded", 3}});
  CHECK(stats.pads.count == 3);
  CHECK(stats.pads.reasons == Reasons{{"decode rows=24", 2}, {"decode rows=22", 1}});
  CHECK(graph_of(stats, "decode rows=24").padded_hits == 2);
  CHECK(stats.lookups() == 5);
  CHECK(w.fallbacks.empty());
}

TEST_CASE("graph cache: a profiler sees each run as a step with its rows and the bucket around its replay") {
  HostDriver host;
  ShownDriver shown(host);
  CacheWorld w(shown);
  (void)w.warm_up(8);
  shown.shown.clear();
  (void)w.run(8, 5);
  CHECK(shown.shown ==
        std::vector<std::string>{"step 5", "step/bucket 8", "step/bucket/replay " + std::to_string(w.nodes)});
}

TEST_CASE("graph cache: a hit is one call of the driver") {
  HostDriver host;
  FailingDriver counting(host, 0);
  CacheWorld w(counting);
  (void)w.warm_up(2);
  const std::uint64_t before = counting.calls();
  CHECK(w.run(2, 2) == Outcome{Served::hit, true});
  CHECK(counting.calls() == before + 1);
}

TEST_CASE("graph cache: a key that nobody warmed up is captured when it is run") {
  HostDriver host;
  CacheWorld w(host);
  CHECK(w.run(2, 1) == Outcome{Served::recapture, true});
  CHECK(w.run(2, 2) == Outcome{Served::hit, true});
  CHECK(w.cache->stats().recaptures.reasons == Reasons{{"not captured before", 1}});
  CHECK(w.cache->stats().pads.count == 1);
}

TEST_CASE("graph cache: replaced leases update the exec that is there and let the old range go") {
  HostDriver host;
  CacheWorld w(host);
  (void)w.warm_up(2);
  CHECK(w.run(2, 2) == Outcome{Served::hit, true});
  const std::size_t execs = host.census().execs;
  w.out = w.arena.lease({"out", kBytes, Role::output, Dtype::u8});  // the old one stays while graphs hold it
  const std::uint64_t both = w.arena.bytes_leased();
  CHECK(w.run(2, 2) == Outcome{Served::update, true});
  CHECK(w.warm_up(2).ready == 2);
  CHECK(w.arena.bytes_leased() == both - kBytes);
  CHECK(host.census().execs == execs);
  CHECK(w.run(1, 1) == Outcome{Served::hit, true});
  const CacheStats stats = w.cache->stats();
  CHECK(stats.updates.reasons == Reasons{{"the leases of its key were replaced", 1}});
  CHECK(stats.captures.reasons == Reasons{{"instantiated", 2}, {"updated in place of a stale graph", 1}});
  CHECK(stats.hits.count == 2);  // that of the key that is gone too
  CHECK(stats.graphs.size() == 2);
}

TEST_CASE("graph cache: two keys whose leases are both alive keep a graph each") {
  HostDriver host;
  CacheWorld w(host);
  Lease other = w.arena.lease({"out", kBytes, Role::output, Dtype::u8});
  for (int i = 0; i < 3; ++i) {
    CHECK(w.run(2, 2).second);
    std::swap(w.out, other);
    CHECK(w.run(2, 2).second);
    std::swap(w.out, other);
  }
  CHECK(w.cache->stats().recaptures.count == 2);
  CHECK(w.cache->stats().hits.count == 4);
}

TEST_CASE("graph cache: replaced leases under another structure are instantiated and not updated") {
  HostDriver host;
  CacheWorld w(host);
  CHECK(w.run(2, 2).first == Served::recapture);
  w.out = w.arena.lease({"out", kBytes, Role::output, Dtype::u8});
  const std::uint64_t both = w.arena.bytes_leased();
  w.nodes = 3;
  CHECK(w.run(2, 2) == Outcome{Served::recapture, true});
  CHECK(w.arena.bytes_leased() == both - kBytes);  // the stale graph went all the same
  CHECK(w.cache->stats().graphs.size() == 1);
}

TEST_CASE("graph cache: a cache that could fall back in silence is not made") {
  HostDriver host;
  CacheWorld w(host);
  const CaptureBench bench{host, w.clock, w.registry, w.arena, w.stream};
  CHECK_THROWS_AS(GraphCache(bench, w.recorder(), CacheOptions{}), Error);
}

TEST_CASE("graph cache: its statistics print as text and as JSON") {
  HostDriver host;
  CacheWorld w(host, 10 * kTwoNodes);
  w.syncs = {1};
  (void)w.warm_up(3);
  (void)w.run(3, 2);
  (void)w.run(1, 1);
  const CacheStats stats = w.cache->stats();
  const auto json = nlohmann::json::parse(cache_json(stats));
  CHECK(json.at("schema") == "refrain.graph_cache/1");
  CHECK(json.at("lookups") == 2);
  CHECK(json.at("hits").at("reasons").at("padded") == 1);
  CHECK(json.at("pads").at("reasons").at("decode rows=3") == 1);
  CHECK(json.at("fallbacks").at("count") == 1);
  CHECK(json.at("graph_count") == 2);
  CHECK(json.at("bytes") == 2 * kTwoNodes);
  CHECK(json.at("byte_budget") == 10 * kTwoNodes);
  CHECK(json.at("graphs").size() == 3);
  CHECK(json.at("graphs").at(0).at("eager").get<std::string>().find("(900)") != std::string::npos);
  CHECK(json.at("graphs").at(1).at("eager").is_null());
  const std::string text = cache_text(stats);
  CHECK(text.find("graphs      2 of 3 keys, 8400 bytes (8400 of them estimated) of a budget of 42000\n") == 0);
  CHECK(text.find("EAGER       decode rows=1: ") != std::string::npos);
  CHECK(text.back() == '\n');
}
