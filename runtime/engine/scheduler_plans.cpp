// How a Scheduler makes a plan: prefill chunks take turns with steps that give tokens, and
// among these the drafts' verification with plain decode.
#include <algorithm>

#include "runtime/engine/scheduler.hpp"

namespace refrain {
namespace {

/// The `most` that were served longest ago, the oldest request first: pages are preempted from the end.
std::vector<Sequence*> next_in_turn(std::vector<Sequence*> ready, std::int32_t most) {
  if (ready.size() > static_cast<std::size_t>(most)) {
    std::stable_sort(ready.begin(), ready.end(),
                     [](const Sequence* a, const Sequence* b) { return a->last_served < b->last_served; });
    ready.resize(static_cast<std::size_t>(most));
    std::sort(ready.begin(), ready.end(), [](const Sequence* a, const Sequence* b) { return a->id < b->id; });
  }
  return ready;
}

}  // namespace

std::optional<StepPlan> Scheduler::next_plan() {
  const bool prefill = prefill_turn_;
  std::optional<StepPlan> plan = prefill ? plan_prefill() : plan_generation();
  if (!plan) plan = prefill ? plan_generation() : plan_prefill();
  if (plan) prefill_turn_ = plan->shape.phase != Phase::prefill;
  return plan;
}

/// First come, first served: nobody overtakes a request that waits for pages.
std::optional<StepPlan> Scheduler::plan_prefill() {
  StepPlan plan;
  std::int32_t left = limits_.prefill_tokens;
  for (const std::uint64_t id : waiting_) {
    if (left == 0 || plan.parts.size() == static_cast<std::size_t>(limits_.prefill_requests)) break;
    Sequence& sequence = sequences_.at(id);
    const std::int32_t missing = sequence.size() - sequence.launched;
    if (missing == 0) continue;  // its last chunk is in flight
    const std::int32_t tokens = prefill_room(sequence, std::min(missing, left));
    if (tokens > 0) {
      plan.parts.push_back({id, sequence.epoch, sequence.launched, tokens, {}, tokens == missing});
      left -= tokens;
    }
    if (tokens < missing) break;
  }
  if (plan.parts.empty()) return std::nullopt;
  plan.shape = shapes_.prefill(limits_.prefill_tokens - left);
  return plan;
}

/// How many of the next `wanted` tokens have pages now. A request begins only where there is room for all of its
/// tokens and the next one: else it would soon be preempted by those that are older.
std::int32_t Scheduler::prefill_room(Sequence& sequence, std::int32_t wanted) {
  const std::int64_t all = std::min(std::int64_t{sequence.size()} + 1, sequence.most_cached_tokens());
  if (sequence.pages.empty() && pages_for(all) > pages_.free()) return 0;
  (void)grow(sequence, std::int64_t{sequence.launched} + wanted, false);
  const auto held = static_cast<std::int64_t>(sequence.pages.size()) * page_size_ - sequence.launched;
  return static_cast<std::int32_t>(std::min<std::int64_t>(wanted, held));
}

/// Those that are chosen may all be the youngest and give their own pages back: then it is the others' turn.
std::optional<StepPlan> Scheduler::plan_generation() {
  while (true) {
    std::vector<Sequence*> plain, drafted;
    for (const std::uint64_t id : running_) {
      Sequence& sequence = sequences_.at(id);
      if (!sequence.in_flight) (sequence.drafts.empty() ? plain : drafted).push_back(&sequence);
    }
    if (plain.empty() && drafted.empty()) return std::nullopt;
    const bool verify = plain.empty() || (verify_turn_ && !drafted.empty());
    StepPlan plan = verify ? plan_verify(next_in_turn(std::move(drafted), limits_.verify_requests))
                           : plan_decode(next_in_turn(std::move(plain), limits_.decode_rows));
    verify_turn_ = !verify;
    if (!plan.parts.empty()) return plan;
  }
}

StepPlan Scheduler::plan_decode(const std::vector<Sequence*>& chosen) {
  StepPlan plan;
  for (Sequence* sequence : chosen) {
    if (!running_.contains(sequence->id) || !grow(*sequence, sequence->size(), true)) continue;  // preempted
    plan.parts.push_back({sequence->id, sequence->epoch, sequence->size() - 1, 1, {}, true});
  }
  if (!plan.parts.empty()) plan.shape = shapes_.decode(static_cast<std::int32_t>(plan.parts.size()));
  return plan;
}

/// Nobody is preempted for a draft: it is cut to the pages that are free.
StepPlan Scheduler::plan_verify(const std::vector<Sequence*>& chosen) {
  StepPlan plan;
  std::size_t longest = 0;
  for (Sequence* sequence : chosen) {
    if (!running_.contains(sequence->id) || !grow(*sequence, sequence->size(), true)) continue;
    (void)grow(*sequence, sequence->size() + static_cast<std::int64_t>(sequence->drafts.size()), false);
    const std::size_t room = sequence->pages.size() * static_cast<std::size_t>(page_size_) - sequence->tokens.size();
    if (sequence->drafts.size() > room) sequence->drafts.resize(room);
    longest = std::max(longest, sequence->drafts.size());
    plan.parts.push_back({sequence->id, sequence->epoch, sequence->size() - 1, 1, sequence->drafts, true});
  }
  // Left without drafts they are decoded, as many as such a step holds.
  if (longest == 0 && plan.parts.size() > static_cast<std::size_t>(limits_.decode_rows))
    plan.parts.resize(static_cast<std::size_t>(limits_.decode_rows));
  const auto requests = static_cast<std::int32_t>(plan.parts.size());
  if (requests > 0)
    plan.shape =
        longest == 0 ? shapes_.decode(requests) : shapes_.verify(requests, 1 + static_cast<std::int32_t>(longest));
  return plan;
}

}  // namespace refrain
