// The graph cache over real attention steps, one a bucket.
#include <cstring>
#include <map>

#include "runtime/graph_cache.hpp"
#include "runtime/host/host_driver.hpp"
#include "runtime/owned_stream.hpp"
#include "runtime/steps/key_of.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

/// A step for each bucket, in one arena.
struct StepsWorld {
  explicit StepsWorld(StepKind kind, std::int32_t maximum, Fault fault = Fault::host_sync, bool faulty = false) {
    for (const std::int32_t size : BucketPolicy::decode_rows(maximum).sizes()) {
      StepOptions options;
      options.step = kind;
      options.rows = size;
      options.context = 70;
      if (faulty && (size >= 8 || kind == StepKind::xqa)) options.faults.add(fault);
      options = default_options(options);
      all_options.push_back(options);
      bytes += step_arena_bytes(options);
    }
    arena.emplace(driver, registry, bytes);
    for (const StepOptions& options : all_options) {
      steps.emplace(options.rows, make_step(driver, registry, *arena, options));
      steps.at(options.rows)->upload(driver);
    }
    StepRecorder recorder{[this](Recorder& r, const StepKey& key) { steps.at(key.rows)->prepare(r); },
                          [this](Recorder& r, const StepKey& key) { steps.at(key.rows)->record(r); }};
    CacheOptions options;
    options.on_fallback = [this](const StepKey&, const std::string&) { ++fallbacks; };
    cache.emplace(CaptureBench{driver, clock, registry, *arena, stream}, std::move(recorder), std::move(options));
  }
  StepKey key(std::int32_t rows) const { return key_of(*steps.at(rows), registry); }
  void clear(std::int32_t rows) {
    for (const OutputTensor& tensor : steps.at(rows)->outputs())
      std::memset(reinterpret_cast<void*>(tensor.address), 0xFF, tensor.bytes());
  }
  Output output(std::int32_t rows) { return read_output(driver, steps.at(rows)->outputs()); }

  HostDriver driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  std::uint64_t bytes = 0;
  std::vector<StepOptions> all_options;
  std::optional<Arena> arena;
  std::map<std::int32_t, std::unique_ptr<Step>> steps;
  OwnedStream stream{driver};
  int fallbacks = 0;
  std::optional<GraphCache> cache;
};

}  // namespace

TEST_CASE("graph cache: what it launches of a real step equals the eager run bit for bit in every bucket") {
  for (const StepKind kind : {StepKind::xqa, StepKind::grouped}) {
    StepsWorld w(kind, 20);
    const BucketPolicy policy = BucketPolicy::decode_rows(20);
    const WarmUp warm = w.cache->warm_up(policy, [&](std::int32_t rows) { return w.key(rows); });
    CHECK(warm.ready == policy.sizes().size());
    for (const std::int32_t rows : policy.sizes()) {
      INFO(to_string(kind) << " " << rows);
      Recorder eager(w.driver, w.registry, w.stream);
      w.clear(rows);
      w.steps.at(rows)->record(eager);
      const Output expected = w.output(rows);
      w.clear(rows);
      CHECK(w.cache->run(w.key(rows), rows) == Served::hit);
      CHECK(all_finite(w.output(rows)));
      CHECK(same_bits(w.output(rows), expected));
    }
    CHECK(w.fallbacks == 0);
    const Counter hits = w.cache->stats().hits;
    CHECK(hits.count == policy.sizes().size());
    CHECK(hits.reasons.at("exact") == hits.count);
  }
}

TEST_CASE("graph cache: real steps with a fault are refused with its rule or its call and still run") {
  const struct {
    StepKind kind;
    Fault fault;
    const char* reason;
  } cases[] = {{StepKind::grouped, Fault::pad_fix_off, "RF304 pad-fix-missing"},
               {StepKind::xqa, Fault::scratch_zero_short, "RF302 zeroing-short"},
               {StepKind::xqa, Fault::host_sync, "cudaStreamSynchronize"},
               {StepKind::xqa, Fault::workspace_fp16, "RF204 workspace-dtype"}};
  for (const auto& c : cases) {
    StepsWorld w(c.kind, 9, c.fault, true);
    w.clear(9);
    CHECK(w.cache->run(w.key(9), 9) == Served::fallback);
    CHECK(w.fallbacks == 1);
    if (c.fault != Fault::scratch_zero_short) CHECK(all_finite(w.output(9)));  // that one is wrong eagerly too
    const CacheStats stats = w.cache->stats();
    REQUIRE(stats.graphs.size() == 1);
    INFO(stats.graphs[0].eager);
    CHECK(stats.graphs[0].eager.find(c.reason) == 0);
  }
}
