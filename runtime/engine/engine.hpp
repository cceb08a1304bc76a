// Requests in, tokens out, over any Model: continuous batching with chunked prefill,
// decode and draft verification over a paged KV memory, one captured graph a step. What a
// request gets never depends on the others or on when it came. A step's effects are taken
// over when its results are there and not before, so a call that failed loses nothing.
//
// One thread, which owns the bench's stream; nothing else captures on it. In steady state
// a step is one cudaGraphLaunch, and its results are polled: no other call.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "runtime/engine/scheduler.hpp"
#include "runtime/engine/step_memory.hpp"
#include "runtime/graph_cache.hpp"

namespace refrain {

struct EngineOptions {
  std::int32_t eos = -1;                                                  ///< ends every answer; -1: none
  std::uint32_t ring_depth = 2;                                           ///< steps that may be in flight
  bool drafts = true;                                                     ///< where the model's limits have any
  std::uint64_t byte_budget = std::numeric_limits<std::uint64_t>::max();  ///< as CacheOptions
  CaptureMode mode = CaptureMode::global;
  bool pdl = false;  ///< kernels that wait on the device start early (Recorder::start_early)
  /// n: each n-th step is run once more, eagerly, on the inputs that it had, and what differs is counted; it waits for
  /// the steps in flight and copies the results, so it is for canaries and tests. 0: none.
  std::uint64_t compare_every = 0;
  /// Required, as CacheOptions::on_fallback.
  std::function<void(const StepKey& key, const std::string& reason)> on_fallback;
  Progress progress;  ///< of the warm-up
};

class Engine {
 public:
  /// Takes its inputs' memory from the bench's arena. Throws Error{usage} without on_fallback, Error{refused} for
  /// limits that no server can have, Error{driver}. All of the bench and the model outlive it.
  Engine(const CaptureBench& bench, Model& model, EngineOptions options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Loads the model and captures every bucket of every phase, largest first; before the first step. A capture that
  /// fails runs eagerly later; called again, it is tried again. Throws Error{refused} for a shape that the model does
  /// not admit, and Error{driver}; then it may be called again.
  WarmUp warm_up();

  /// Queues a request and gives its number. Throws Error{refused} for one that could never be served.
  std::uint64_t submit(Request request);
  /// Ends a request now; what steps in flight give it is dropped. False when it has ended or never was.
  bool cancel(std::uint64_t id);

  /// Launches one step, once a place in the ring is free, and takes over what is done; when nothing can be launched
  /// before a step in flight is done, waits for that. False when there is nothing to do. Throws Error{driver} when a
  /// call failed: every request is where it was, and the next step() tries again. Throws Error{refused} before
  /// warm_up() and while it sleeps.
  bool step();
  /// Those that ended since the last call, in that order.
  [[nodiscard]] std::vector<Completion> take_completions() { return scheduler_.take_completions(); }
  /// The answer so far; empty for a request that has ended.
  [[nodiscard]] std::span<const std::int32_t> answer(std::uint64_t id) const;
  /// Requests whose prompts are not computed yet.
  [[nodiscard]] std::size_t waiting() const noexcept { return scheduler_.waiting(); }
  /// No request is waiting or running.
  [[nodiscard]] bool idle() const noexcept { return scheduler_.idle(); }

  /// Waits for the steps in flight and gives the arena's memory back; requests stay, to be computed again from their
  /// tokens. Throws Error{driver}; then it may be called again, and so may wake().
  void sleep();
  /// Maps memory again and loads the model. Throws Error{driver}; then it still sleeps.
  void wake();

  [[nodiscard]] EngineStats stats() const;
  [[nodiscard]] CacheStats cache_stats() const { return cache_.stats(); }

 private:
  struct Flight {
    StepPlan plan;
    std::uint64_t step = 0;  ///< of the ring
    Served served = Served::hit;
    std::uint64_t launched_ns = 0;
  };
  using ShapeId = std::array<std::int32_t, 4>;
  enum class State : std::uint8_t { cold, ready, asleep };

  [[nodiscard]] static ShapeId id_of(const StepShape& shape);
  [[nodiscard]] StepRecorder step_recorder();
  [[nodiscard]] CacheOptions cache_options();
  [[nodiscard]] StepKey key_for(const StepShape& shape) const;
  void make_keys();
  void load();
  void require_ready() const;
  void launch(StepPlan plan);
  void settle();
  void accept(Flight flight);
  void take_done();
  void wait_for_oldest();
  void take(const Flight& flight);
  void compare_with_eager();
  void count(const Flight& flight, std::uint64_t now_ns);

  CaptureBench bench_;
  Model& model_;
  EngineOptions options_;
  EngineStats stats_;
  StepShapes shapes_;
  StepMemory memory_;
  Scheduler scheduler_;
  std::map<ShapeId, StepKey> keys_;
  std::unordered_map<StepKey, StepShape, StepKeyHash> shape_of_;
  GraphCache cache_;
  std::deque<Flight> flights_;      // launched, the oldest first
  std::optional<Flight> doubtful_;  // its launch failed, and nobody has looked yet whether it ran
  std::string fallback_reason_;     // of the run under way
  std::uint64_t launched_ = 0;
  State state_ = State::cold;
};

}  // namespace refrain
