// Which requests the next step serves, and who holds which pages. It knows no driver and
// no graph: it makes plans, is told what became of them, and takes their tokens. When the
// pool is full the youngest request gives its pages back and is computed again later, so
// the oldest always gets through. Invariant: a page belongs to one request at most, and a
// request that has ended holds none.
#pragma once

#include <map>
#include <set>
#include <span>

#include "runtime/engine/plan.hpp"
#include "runtime/engine/sequence.hpp"
#include "runtime/engine/stats.hpp"
#include "runtime/engine/step_shapes.hpp"
#include "runtime/page_allocator.hpp"

namespace refrain {

/// What a step left on the host, as in StepPlaces.
struct StepResults {
  std::span<const std::int32_t> next_tokens, accepted;
};

class Scheduler {
 public:
  /// `model` and `stats` outlive it. `eos`: ends every answer; -1: none.
  Scheduler(const Model& model, const StepShapes& shapes, std::int32_t eos, EngineStats& stats);

  /// Of a request that was not refused.
  std::uint64_t add(Request request, std::uint64_t now_ns);
  /// False for a request that has ended or never was.
  bool cancel(std::uint64_t id, std::uint64_t now_ns);

  /// Nothing when no request can go on before a launched step is done. Its pages are taken, and the youngest requests
  /// may have been preempted for them.
  [[nodiscard]] std::optional<StepPlan> next_plan();
  /// What became of a plan: it was launched, or it was not and its pages go back.
  void launched(const StepPlan& plan);
  void dropped(const StepPlan& plan);
  /// A launched step is done.
  void take(const StepPlan& plan, const StepResults& results, std::uint64_t now_ns);

  /// All K and V are lost.
  void preempt_all();

  /// Null for a request that has ended.
  [[nodiscard]] const Sequence* find(std::uint64_t id) const;
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
  [[nodiscard]] bool idle() const noexcept { return sequences_.empty(); }
  [[nodiscard]] std::vector<Completion> take_completions() { return std::exchange(completions_, {}); }
  /// The gauges of the stats.
  void gauge(EngineStats& stats) const;

 private:
  using Ids = std::set<std::uint64_t>;  // ascending: the oldest first

  std::optional<StepPlan> plan_prefill();
  std::optional<StepPlan> plan_generation();
  StepPlan plan_decode(const std::vector<Sequence*>& chosen);
  StepPlan plan_verify(const std::vector<Sequence*>& chosen);
  std::int32_t prefill_room(Sequence& sequence, std::int32_t wanted);

  [[nodiscard]] Sequence* find(const PlanPart& part);
  [[nodiscard]] std::int64_t pages_for(std::int64_t tokens) const noexcept;
  bool grow(Sequence& sequence, std::int64_t tokens, bool may_preempt);
  void trim(Sequence& sequence, std::int64_t tokens);
  void preempt(Sequence& sequence);
  void deliver(Sequence& sequence, std::span<const std::int32_t> tokens, std::uint64_t now_ns);
  void note_latency(Sequence& sequence, std::uint64_t count, std::uint64_t now_ns);
  void finish(Sequence& sequence, Finish how, std::uint64_t now_ns);

  const StepShapes& shapes_;
  EngineStats& stats_;
  ServingLimits limits_;
  std::int32_t page_size_, vocabulary_, eos_;
  PageAllocator pages_;
  std::map<std::uint64_t, Sequence> sequences_;
  Ids waiting_, running_, holders_;  // prompts to compute; answers to go on with; who has pages
  std::vector<Completion> completions_;
  std::uint64_t last_id_ = 0, turn_ = 0;
  bool prefill_turn_ = true, verify_turn_ = true;
};

}  // namespace refrain
