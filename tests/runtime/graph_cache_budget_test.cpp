// The graph cache's byte budget: what is left out, what is evicted, what a graph weighs.
#include "runtime/graph_cache.hpp"
#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/cache_world.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("graph cache: a warm-up over the byte budget leaves the small buckets out and evicts nothing") {
  HostDriver host;
  CacheWorld w(host, 3 * kTwoNodes);
  const WarmUp warm = w.warm_up(5);
  CHECK(warm.ready == 3);
  CHECK(warm.left_out == 2);
  CHECK(host.census().execs == 3);
  const CacheStats stats = w.cache->stats();
  CHECK(stats.evictions.count == 0);
  CHECK(stats.bytes == 3 * kTwoNodes);
  CHECK(graph_of(stats, "decode rows=5").absent.empty());
  CHECK(graph_of(stats, "decode rows=2").absent == "left out for the byte budget");
}

TEST_CASE("graph cache: the graph that was used longest ago makes room and its exec is used again") {
  HostDriver host;
  CacheWorld w(host, 3 * kTwoNodes);
  (void)w.warm_up(5);  // 5, 4 and 3 are in
  CHECK(w.run(5, 5).first == Served::hit);
  CHECK(w.run(3, 3).first == Served::hit);
  CHECK(w.run(1, 1) == Outcome{Served::update, true});  // 4 goes
  CHECK(host.census().execs == 3);
  CHECK(w.run(5, 5).first == Served::hit);
  CHECK(w.run(4, 4) == Outcome{Served::update, true});  // 3 goes
  CHECK(w.run(5, 5).first == Served::hit);
  CHECK(w.run(1, 1).first == Served::hit);
  const CacheStats stats = w.cache->stats();
  CHECK(stats.evictions.reasons == Reasons{{"decode rows=4", 1}, {"decode rows=3", 1}});
  CHECK(stats.updates.reasons == Reasons{{"in place of a graph that was evicted", 2}});
  CHECK(graph_of(stats, "decode rows=3").absent == "evicted for the byte budget");
  CHECK(stats.bytes == 3 * kTwoNodes);
}

TEST_CASE("graph cache: a graph of another structure is instantiated in the room of those that it evicts") {
  HostDriver host;
  CacheWorld w(host, 3 * kTwoNodes);
  (void)w.warm_up(3);
  w.nodes = 3;
  CHECK(w.run(4, 4) == Outcome{Served::recapture, true});
  CHECK(host.census().execs == 2);  // 3 and 2 made room for three nodes
  w.nodes = 2;
  CHECK(w.run(3, 3) == Outcome{Served::update, true});  // 1 goes, a graph of two nodes
  CHECK(w.cache->stats().bytes == 5 * kGraphBytesPerNode);
}

TEST_CASE("graph cache: a graph that the whole budget can't hold runs eagerly with the numbers") {
  HostDriver host;
  CacheWorld w(host, kTwoNodes);
  w.nodes = 3;
  CHECK(w.run(2, 2) == Outcome{Served::fallback, true});
  CHECK(w.fallbacks.at(0).second == "a graph of 3 nodes takes about 6300 bytes, over the budget of 4200");
  CHECK(host.census().execs == 0);
}

namespace {

/// A device with memory that each instantiate takes from, and that says nothing else.
class MeteredDriver final : public Driver {
 public:
  MeteredDriver(Driver& inner, std::uint64_t bytes_a_graph) : inner_(inner), bytes_a_graph_(bytes_a_graph) {}
  DeviceInfo device() const override { return inner_.device(); }
  Status submit(Call& call) override {
    const Status status = inner_.submit(call);
    if (call.api == Api::graph_instantiate) free_ -= bytes_a_graph_;
    if (call.api == Api::mem_get_info) call.bytes = free_;
    return status;
  }
  Status introspect(GraphHandle graph, Introspection& out) override { return inner_.introspect(graph, out); }
  Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }

 private:
  Driver& inner_;
  std::uint64_t bytes_a_graph_, free_ = std::uint64_t{1} << 34;
};

}  // namespace

TEST_CASE("graph cache: bytes are measured where free memory tells them well enough and estimated where not") {
  constexpr std::uint64_t kMiB = 1 << 20;
  HostDriver host;
  const auto stats_with = [&](std::uint64_t bytes_a_graph, std::uint64_t& warm_bytes) {
    MeteredDriver metered(host, bytes_a_graph);
    CacheWorld w(metered);
    w.nodes = 9000;  // 18 MiB by the estimate
    warm_bytes = w.warm_up(1).measured_bytes;
    return w.cache->stats();
  };
  std::uint64_t warm = 0;
  const CacheStats exact = stats_with(20 * kMiB, warm);
  CHECK(exact.bytes == 20 * kMiB);
  CHECK(exact.bytes_estimated == 0);
  CHECK(exact.graphs[0].bytes_measured);
  CHECK(warm == 20 * kMiB);
  const CacheStats coarse = stats_with(10 * kMiB, warm);  // under eight pieces of 2 MiB
  CHECK(coarse.bytes == 9000 * kGraphBytesPerNode);
  CHECK(coarse.bytes_estimated == coarse.bytes);
  CHECK(warm == 10 * kMiB);
  const CacheStats somebody_else = stats_with(400 * kMiB, warm);
  CHECK(somebody_else.bytes == 9000 * kGraphBytesPerNode);
}
