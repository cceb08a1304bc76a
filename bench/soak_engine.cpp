// Requests that come at random, are of random length, greedy or drawn, drafted for, and
// now and then cancelled, in a pool that is too small for all of them, so that some are
// preempted. What the serving thread calls is counted at the driver.
#include "bench/soak_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <random>

#include "bench/result.hpp"
#include "graphs/error.hpp"
#include "runtime/engine/engine.hpp"
#include "runtime/model/llama.hpp"
#include "runtime/owned_stream.hpp"

namespace refrain::bench {
namespace {

constexpr std::uint64_t kEngineBytes = std::uint64_t{64} << 20;

/// Passes every call on, and counts it.
class CountingDriver final : public Driver {
 public:
  explicit CountingDriver(Driver& inner) : inner_(inner) {}
  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override {
    ++(call.api == Api::graph_launch ? launches_ : others_);
    return inner_.submit(call);
  }
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_.introspect(graph, out);
  }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }
  void begin_range(const char* name, std::uint64_t payload) noexcept override { inner_.begin_range(name, payload); }
  void end_range() noexcept override { inner_.end_range(); }

  [[nodiscard]] std::uint64_t launches() const noexcept { return launches_; }
  [[nodiscard]] std::uint64_t others() const noexcept { return others_; }

 private:
  Driver& inner_;
  std::uint64_t launches_ = 0, others_ = 0;
};

LlamaShape model_shape() {
  LlamaShape shape;
  shape.layers = 2;
  shape.width = 128;
  shape.heads = 4;
  shape.kv_heads = 1;
  shape.dim = 64;
  shape.ffn = 256;
  shape.vocab = 512;
  shape.kv = Dtype::bf16;
  return shape;
}

ServingLimits model_limits() {
  ServingLimits limits;
  limits.context = 256;
  limits.pages = 257;  // of 16 tokens: 32 requests of 128 tokens, half of what 32 could ask for
  limits.decode_rows = 32;
  limits.prefill_tokens = 128;
  limits.prefill_requests = 8;
  limits.verify_requests = 16;
  limits.drafts = 3;
  return limits;
}

/// Of what arrives: the step rate times this many requests a step keeps the queue about full.
class Arrivals {
 public:
  [[nodiscard]] bool due(std::size_t waiting) { return waiting < 8 && chance(0.35); }
  [[nodiscard]] bool cancels() { return chance(0.002); }

  [[nodiscard]] Request next() {
    Request request;
    const std::int32_t length = up_to(1, 120);
    for (std::int32_t i = 0; i < length; ++i) request.prompt.push_back(up_to(0, 511));
    request.max_tokens = up_to(1, 120);
    request.seed = random_();
    if (chance(0.5)) {
      request.temperature = 0.8f;
      request.top_k = up_to(0, 40);
      request.top_p = 0.95f;
    }
    return request;
  }

 private:
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }
  std::int32_t up_to(std::int32_t least, std::int32_t most) {
    return std::uniform_int_distribution<std::int32_t>(least, most)(random_);
  }
  std::mt19937_64 random_{20261130};
};

/// The engine with all that it stands on.
struct Served {
  explicit Served(Driver& of, std::int64_t every_)
      : driver(of),
        every(static_cast<std::uint64_t>(every_)),
        arena(driver, registry, LlamaModel::arena_size(model_shape(), model_limits()).bytes + kEngineBytes,
              LlamaModel::arena_size(model_shape(), model_limits()).overlays),
        model(registry, arena, model_shape(), model_limits()) {
    EngineOptions options;
    options.pdl = true;
    options.compare_every = every;
    options.on_fallback = [](const StepKey& key, const std::string& reason) {
      std::cerr << fmt::format("{} runs eagerly: {}\n", bucket_name(key), reason);
    };
    engine = std::make_unique<Engine>(CaptureBench{driver, clock, registry, arena, stream}, model, options);
    warm = engine->warm_up();
  }

  CountingDriver driver;
  std::uint64_t every;
  std::uint64_t unexpected = 0;  ///< calls of steps that were not compared, beside their launches
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena;
  LlamaModel model;
  OwnedStream stream{driver};
  std::unique_ptr<Engine> engine;
  WarmUp warm;
};

std::uint64_t free_memory(Driver& driver) {
  std::uint64_t bytes = 0;
  check(driver.free_memory(bytes), "cudaMemGetInfo");
  return bytes;
}

/// Steps until so many are done; ids of the requests under way are in `open`.
void serve(Served& s, Arrivals& arrivals, std::vector<std::uint64_t>& open, std::uint64_t steps) {
  while (s.engine->stats().steps() < steps) {
    for (std::int64_t burst = 0; burst < 256; ++burst) {
      if (arrivals.due(s.engine->waiting())) open.push_back(s.engine->submit(arrivals.next()));
      if (arrivals.cancels() && !open.empty()) (void)s.engine->cancel(open[open.size() / 2]);
      const std::uint64_t before = s.driver.others();
      (void)s.engine->step();
      const bool compared = s.driver.launches() % s.every == 0;
      if (!compared) s.unexpected += s.driver.others() - before;
    }
    for (const Completion& done : s.engine->take_completions()) std::erase(open, done.id);
  }
}

/// Once more to bed in the middle: graphs stay valid, what was under way is computed again.
void sleep_and_wake(Served& s, nlohmann::ordered_json& row) {
  const auto start = std::chrono::steady_clock::now();
  const std::uint64_t mapped = s.arena.bytes_mapped(), before = free_memory(s.driver);
  s.engine->sleep();
  const std::uint64_t asleep = free_memory(s.driver);
  s.engine->wake();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  row["sleep_released_bytes"] = asleep > before ? asleep - before : 0;
  row["arena_bytes"] = mapped;
  row["sleep_and_wake_ms"] = took.count();
}

}  // namespace

nlohmann::ordered_json soak_engine(Driver& driver, std::int64_t steps, std::int64_t every) {
  Served s(driver, every);
  if (!s.warm.eager.empty()) throw Error(ErrorKind::refused, "warm-up", s.warm.eager.front().second, "bench_soak");
  nlohmann::ordered_json row = {{"case", fmt::format("engine-{}", s.model.name())}, {"graphs", s.warm.ready}};
  Arrivals arrivals;
  std::vector<std::uint64_t> open;
  const auto all = static_cast<std::uint64_t>(steps);
  serve(s, arrivals, open, all / 20);
  sleep_and_wake(s, row);
  serve(s, arrivals, open, all / 10);
  // From here on nothing may grow and nothing else may be called.
  const std::uint64_t device_before = free_memory(s.driver), first = s.engine->stats().steps();
  const std::int64_t host_before = resident_bytes();
  const std::uint64_t launches_before = s.driver.launches();
  s.unexpected = 0;
  const auto start = std::chrono::steady_clock::now();
  serve(s, arrivals, open, all);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const std::uint64_t device_after = free_memory(s.driver);
  const EngineStats stats = s.engine->stats();
  const std::uint64_t counted = stats.steps() - first;
  row["steps"] = stats.steps();
  row["coverage_ratio"] = stats.coverage();
  row["fallbacks"] = stats.fallbacks.count;
  row["compared"] = stats.eager_checks;
  row["mismatches"] = stats.eager_mismatches;
  row["calls_a_step"] =
      static_cast<double>(s.driver.launches() - launches_before + s.unexpected) / static_cast<double>(counted);
  row["calls_beside_launches"] = s.unexpected;
  row["requests_finished"] = stats.finished.count;
  row["preemptions"] = stats.preemptions;
  row["drafted"] = stats.drafted;
  row["accepted"] = stats.accepted;
  row["tokens_out"] = stats.tokens_out;
  row["device_memory_growth_bytes"] = device_before > device_after ? device_before - device_after : 0;
  row["host_memory_growth_bytes"] = resident_bytes() - host_before;
  row["step_us"] = took.count() * 1e6 / static_cast<double>(counted);
  for (const Phase phase : kPhases) row[fmt::format("{}_steps", to_string(phase))] = stats.of(phase).steps;
  row["limited_by"] =
      "the wait for the step before: a small model's kernels in a chain, and the way of its results to the host";
  return row;
}

}  // namespace refrain::bench
