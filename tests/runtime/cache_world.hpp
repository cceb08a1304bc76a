// A graph cache over a step of one small op, whose faults are switches: the stamp of the
// row count over one shared lease.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph_cache.hpp"
#include "runtime/owned_stream.hpp"
#include "tests/catch.hpp"

namespace refrain::test {

struct StampArgs {
  std::uint8_t* bytes = nullptr;
  std::uint64_t count = 0;
  std::uint8_t value = 0;
  bool needs_zeroed = false;
};

inline Contract stamp_contract(const StampArgs& a) {
  Contract contract{{touch(a.bytes, a.count, Mode::write, Role::output, Dtype::u8)}, {}, {}};
  if (a.needs_zeroed) contract.needs.push_back(claim(Fact::zeroed, a.bytes, a.count));
  return contract;
}

inline const Op<StampArgs> stamp_op{"stamp", stamp_contract,
                                    [](const StampArgs& a) { std::fill_n(a.bytes, a.count, a.value); }, nullptr};

inline constexpr std::uint64_t kBytes = 256;

/// A cache whose step stamps the row count over one shared lease, in `nodes` launches.
struct CacheWorld {
  explicit CacheWorld(Driver& of, std::uint64_t budget = std::numeric_limits<std::uint64_t>::max()) : driver(of) {
    CacheOptions options;
    options.byte_budget = budget;
    options.on_fallback = [this](const StepKey& key, const std::string& reason) {
      fallbacks.emplace_back(key.rows, reason);
    };
    cache.emplace(CaptureBench{driver, clock, registry, arena, stream}, recorder(), std::move(options));
  }

  StepRecorder recorder() {
    StepRecorder steps;
    steps.prepare = [this](Recorder& r, const StepKey&) { r.zero(state.address(), 16); };
    steps.record = [this](Recorder& r, const StepKey& key) {
      recorded.push_back(key.rows);
      if (throws.contains(key.rows)) throw std::runtime_error("the model is broken");
      if (syncs.contains(key.rows)) check(driver.synchronize(r.stream()), "cudaStreamSynchronize");
      for (int i = 0; i < nodes; ++i)
        r.launch(stamp_op,
                 {out.as<std::uint8_t>(), kBytes, static_cast<std::uint8_t>(key.rows), unzeroed.contains(key.rows)});
    };
    return steps;
  }
  StepKey key(std::int32_t rows) const {
    StepKey k;
    k.rows = rows;
    k.leases = {registry[state.id()].allocation, registry[out.id()].allocation};
    std::sort(k.leases.begin(), k.leases.end());
    return k;
  }
  WarmUp warm_up(std::int32_t maximum, const Progress& progress = {}) {
    return cache->warm_up(
        BucketPolicy::decode_rows(maximum), [this](std::int32_t rows) { return key(rows); }, progress);
  }
  /// Runs a key, and whether its stamp came out.
  std::pair<Served, bool> run(std::int32_t bucket, std::int32_t rows) {
    std::fill_n(out.as<std::uint8_t>(), kBytes, std::uint8_t{0});
    const Served served = cache->run(key(bucket), rows);
    const auto* bytes = out.as<std::uint8_t>();
    return {served, std::all_of(bytes, bytes + kBytes, [&](std::uint8_t b) { return b == bucket; })};
  }

  Driver& driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena{driver, registry, 1 << 16};
  Lease state = arena.lease({"state", 16, Role::scratch, Dtype::u8});
  Lease out = arena.lease({"out", kBytes, Role::output, Dtype::u8});
  OwnedStream stream{driver};
  int nodes = 2;
  std::set<std::int32_t> syncs, unzeroed, throws;
  std::vector<std::int32_t> recorded;
  std::vector<std::pair<std::int32_t, std::string>> fallbacks;
  std::optional<GraphCache> cache;
};

using Reasons = std::map<std::string, std::uint64_t, std::less<>>;
using Outcome = std::pair<Served, bool>;

inline constexpr std::uint64_t kTwoNodes = 2 * kGraphBytesPerNode;

inline const CachedGraph& graph_of(const CacheStats& stats, const std::string& name) {
  for (const CachedGraph& graph : stats.graphs)
    if (graph.name == name) return graph;
  FAIL("no graph of " << name);
  return stats.graphs.front();
}

}  // namespace refrain::test
