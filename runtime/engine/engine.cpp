#include "runtime/engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>

namespace refrain {
namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

std::int32_t pages_per_request(const Model& model) {
  return (model.limits().context + model.page_size() - 1) / model.page_size();
}

}  // namespace

Engine::Engine(const CaptureBench& bench, Model& model, EngineOptions options)
    : bench_(bench),
      model_(model),
      options_(std::move(options)),
      shapes_(model.limits(), options_.drafts),
      memory_(bench.driver, bench.registry, bench.arena, shapes_, pages_per_request(model), options_.ring_depth),
      scheduler_(model, shapes_, options_.eos, stats_),
      cache_(bench, step_recorder(), cache_options()) {}

StepRecorder Engine::step_recorder() {
  StepRecorder steps;
  steps.prepare = [this](Recorder& recorder, const StepKey& key) {
    memory_.ring().declare(recorder);
    model_.prepare(recorder, shape_of_.at(key));
  };
  steps.record = [this](Recorder& recorder, const StepKey& key) {
    recorder.start_early(options_.pdl);
    const StepShape& shape = shape_of_.at(key);
    memory_.record_take(recorder, shape);
    model_.record(recorder, shape, memory_.places(shape));
    memory_.record_give(recorder, shape);
  };
  return steps;
}

CacheOptions Engine::cache_options() {
  CacheOptions cache;
  cache.byte_budget = options_.byte_budget;
  cache.mode = options_.mode;
  if (options_.on_fallback)
    cache.on_fallback = [this](const StepKey& key, const std::string& reason) {
      fallback_reason_ = reason;
      options_.on_fallback(key, reason);
    };
  return cache;
}

Engine::ShapeId Engine::id_of(const StepShape& shape) {
  return {static_cast<std::int32_t>(shape.phase), shape.rows, shape.requests, shape.query_length};
}

/// The model's key with what the engine has baked in beside it.
StepKey Engine::key_for(const StepShape& shape) const {
  StepKey key = model_.key(shape);
  const std::vector<std::uint64_t> own = memory_.allocations();
  key.leases.insert(key.leases.end(), own.begin(), own.end());
  std::sort(key.leases.begin(), key.leases.end());
  return key;
}

void Engine::make_keys() {
  for (const StepShape& shape : shapes_.all()) {
    if (const std::string reason = model_.refusal(shape); !reason.empty())
      throw Error(ErrorKind::refused, fmt::format("serving {}: {}", model_.name(), describe(shape)), reason, "engine");
    const StepKey key = key_for(shape);
    const auto [other, fresh] = shape_of_.try_emplace(key, shape);
    if (!fresh && id_of(other->second) != id_of(shape))
      throw Error(ErrorKind::refused, fmt::format("serving {}: {}", model_.name(), describe(shape)),
                  fmt::format("its key is that of {}; Model::key must tell them apart", describe(other->second)),
                  "engine");
    keys_.insert_or_assign(id_of(shape), key);
  }
}

/// Weights, and the ring from its beginning.
void Engine::load() {
  model_.load(bench_.driver);
  Recorder recorder(bench_.driver, bench_.registry, bench_.stream);
  memory_.ring().prepare(recorder);
  state_ = State::ready;
}

WarmUp Engine::warm_up() {
  make_keys();
  if (state_ == State::asleep) require_ready();
  if (state_ == State::cold) load();
  std::vector<StepKey> keys;
  for (const auto& [id, key] : keys_) keys.push_back(key);
  return cache_.warm_up(std::move(keys), options_.progress);
}

std::uint64_t Engine::submit(Request request) {
  if (const auto refusal = refusal_of(request, model_)) {
    stats_.refusals.add(refusal->kind);
    throw Error(ErrorKind::refused, "a request", refusal->reason, "engine");
  }
  return scheduler_.add(std::move(request), now_ns());
}

bool Engine::cancel(std::uint64_t id) {
  return scheduler_.cancel(id, now_ns());
}

std::span<const std::int32_t> Engine::answer(std::uint64_t id) const {
  const Sequence* sequence = scheduler_.find(id);
  if (sequence == nullptr) return {};
  return std::span(sequence->tokens).subspan(sequence->request.prompt.size());
}

void Engine::require_ready() const {
  if (state_ == State::ready) return;
  throw Error(ErrorKind::refused, "a step of the engine",
              state_ == State::cold ? "nothing is loaded; call warm_up() first" : "it sleeps; call wake() first",
              "engine");
}

bool Engine::step() {
  require_ready();
  settle();
  const bool took = !flights_.empty();
  take_done();
  while (memory_.ring().full()) wait_for_oldest();
  std::optional<StepPlan> plan = scheduler_.next_plan();
  while (!plan && !flights_.empty()) {
    wait_for_oldest();
    plan = scheduler_.next_plan();
  }
  if (plan) launch(std::move(*plan));
  assert(plan || scheduler_.idle());  // the oldest request can always go on
  return plan || took;
}

void Engine::launch(StepPlan plan) {
  write_inputs(memory_, plan, scheduler_);
  const StepKey& key = keys_.at(id_of(plan.shape));
  Flight flight{std::move(plan), memory_.ring().issued_steps(), Served::hit, now_ns()};
  fallback_reason_.clear();
  try {
    flight.served = cache_.run(key, flight.plan.real_rows());
  } catch (...) {
    flight.served = fallback_reason_.empty() ? Served::hit : Served::fallback;
    ++stats_.failed_launches;
    doubtful_ = std::move(flight);
    try {
      settle();
    } catch (const Error&) {
      ++stats_.failed_settles;  // the next step() looks again
    }
    throw;
  }
  accept(std::move(flight));
  if (options_.compare_every != 0 && ++launched_ % options_.compare_every == 0) compare_with_eager();
}

/// The inputs of the last launch lie in device memory until the next. K and V are appended where they were, as they
/// were.
void Engine::compare_with_eager() {
  const StepShape shape = flights_.back().plan.shape;
  const std::uint64_t step = flights_.back().step;
  while (!flights_.empty()) wait_for_oldest();
  Recorder recorder(bench_.driver, bench_.registry, bench_.stream);
  model_.record(recorder, shape, memory_.places(shape));
  check(bench_.driver.synchronize(bench_.stream), "cudaStreamSynchronize");
  ++stats_.eager_checks;
  if (!memory_.results_equal(bench_.driver, step, shape)) ++stats_.eager_mismatches;
}

/// An eager step may fail after it gave its results: then the device has counted it, and so does the host.
void Engine::settle() {
  if (!doubtful_) return;
  check(bench_.driver.synchronize(bench_.stream), "cudaStreamSynchronize");
  Flight flight = std::move(*doubtful_);
  doubtful_.reset();
  if (memory_.ring().ran_unissued())
    accept(std::move(flight));
  else
    scheduler_.dropped(flight.plan);
}

void Engine::accept(Flight flight) {
  memory_.ring().issued();
  scheduler_.launched(flight.plan);
  if (flight.served == Served::fallback) stats_.fallbacks.add(fallback_reason_);
  flights_.push_back(std::move(flight));
}

void Engine::take_done() {
  while (!flights_.empty() && flights_.front().step < memory_.ring().completed()) {
    take(flights_.front());
    flights_.pop_front();
  }
}

/// Polls. A device that has died would never answer: after a while the stream is asked, which no live step comes to.
void Engine::wait_for_oldest() {
  constexpr std::uint64_t kPatienceNs = 1'000'000'000;
  for (std::uint64_t asked_ns = now_ns(); flights_.front().step >= memory_.ring().completed();) {
    if (now_ns() - asked_ns < kPatienceNs) continue;
    asked_ns = now_ns();
    const Status status = bench_.driver.query(bench_.stream);
    if (status == Status::not_ready) continue;
    check(status, "cudaStreamQuery");
    if (flights_.front().step >= memory_.ring().completed())
      throw Error(ErrorKind::driver, "waiting for a step", "its stream is idle and its results are not there",
                  "engine");
  }
  take_done();
}

void Engine::take(const Flight& flight) {
  const StepShape& shape = flight.plan.shape;
  const std::uint64_t now = now_ns();
  scheduler_.take(flight.plan,
                  {memory_.result(StepResult::next_tokens, flight.step, shape),
                   memory_.result(StepResult::accepted, flight.step, shape)},
                  now);
  count(flight, now);
}

void Engine::count(const Flight& flight, std::uint64_t now) {
  PhaseStats& phase = stats_.of(flight.plan.shape.phase);
  const auto rows = static_cast<std::uint64_t>(flight.plan.useful_rows());
  ++phase.steps;
  phase.rows += rows;
  phase.pad_rows += static_cast<std::uint64_t>(flight.plan.shape.rows) - rows;
  if (flight.served != Served::fallback) ++phase.replays;
  if (flight.served == Served::recapture || flight.served == Served::update) ++stats_.captured_late;
  phase.step_ns.add(now - flight.launched_ns);
}

void Engine::sleep() {
  if (state_ == State::cold) require_ready();
  settle();
  while (!flights_.empty()) wait_for_oldest();
  check(bench_.driver.synchronize(bench_.stream), "cudaStreamSynchronize");
  scheduler_.preempt_all();
  state_ = State::asleep;
  bench_.arena.sleep();
}

void Engine::wake() {
  if (state_ != State::asleep) return;
  if (bench_.arena.asleep()) bench_.arena.wake();
  load();
  try {
    cache_.prepare_again();
  } catch (...) {
    state_ = State::asleep;
    throw;
  }
}

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  scheduler_.gauge(stats);
  return stats;
}

}  // namespace refrain
