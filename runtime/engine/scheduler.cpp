#include "runtime/engine/scheduler.hpp"

#include <cassert>

namespace refrain {

Scheduler::Scheduler(const Model& model, const StepShapes& shapes, std::int32_t eos, EngineStats& stats)
    : shapes_(shapes),
      stats_(stats),
      limits_(model.limits()),
      page_size_(model.page_size()),
      vocabulary_(model.vocabulary()),
      eos_(eos),
      pages_(model.limits().pages) {}

std::uint64_t Scheduler::add(Request request, std::uint64_t now_ns) {
  Sequence sequence;
  sequence.id = ++last_id_;
  sequence.request = std::move(request);
  sequence.tokens = sequence.request.prompt;
  sequence.submitted_ns = now_ns;
  if (shapes_.drafts() > 0 && sequence.request.temperature == 0) {
    sequence.lookup.emplace();
    for (std::size_t n = 1; n <= sequence.tokens.size(); ++n)
      sequence.lookup->grown(std::span(sequence.tokens).first(n));
  }
  ++stats_.submitted;
  stats_.tokens_in += sequence.tokens.size();
  waiting_.insert(sequence.id);
  sequences_.emplace(sequence.id, std::move(sequence));
  return last_id_;
}

bool Scheduler::cancel(std::uint64_t id, std::uint64_t now_ns) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return false;
  finish(found->second, Finish::cancelled, now_ns);
  return true;
}

const Sequence* Scheduler::find(std::uint64_t id) const {
  const auto found = sequences_.find(id);
  return found == sequences_.end() ? nullptr : &found->second;
}

Sequence* Scheduler::find(const PlanPart& part) {
  const auto found = sequences_.find(part.id);
  return found == sequences_.end() || found->second.epoch != part.epoch ? nullptr : &found->second;
}

std::int64_t Scheduler::pages_for(std::int64_t tokens) const noexcept {
  return (tokens + page_size_ - 1) / page_size_;
}

/// Pages for the first `tokens` tokens; false when there are not enough, or when it was preempted itself.
bool Scheduler::grow(Sequence& sequence, std::int64_t tokens, bool may_preempt) {
  while (static_cast<std::int64_t>(sequence.pages.size()) < pages_for(tokens)) {
    if (pages_.free() == 0) {
      if (!may_preempt) return false;
      Sequence& youngest = sequences_.at(*holders_.rbegin());
      preempt(youngest);
      if (&youngest == &sequence) return false;
    }
    sequence.pages.push_back(pages_.take());
    holders_.insert(sequence.id);
  }
  stats_.pages_in_use_most = std::max(stats_.pages_in_use_most, pages_.total() - pages_.free());
  return true;
}

void Scheduler::trim(Sequence& sequence, std::int64_t tokens) {
  while (static_cast<std::int64_t>(sequence.pages.size()) > pages_for(tokens)) {
    pages_.give_back(sequence.pages.back());
    sequence.pages.pop_back();
  }
  if (sequence.pages.empty()) holders_.erase(sequence.id);
}

/// Steps in flight may still write to its pages: whoever gets these writes in a later step of the same stream.
void Scheduler::preempt(Sequence& sequence) {
  trim(sequence, 0);
  sequence.launched = 0;
  sequence.in_flight = false;
  ++sequence.epoch;
  running_.erase(sequence.id);
  waiting_.insert(sequence.id);
  ++stats_.preemptions;
}

void Scheduler::preempt_all() {
  while (!holders_.empty()) preempt(sequences_.at(*holders_.rbegin()));
}

void Scheduler::launched(const StepPlan& plan) {
  ++turn_;
  for (const PlanPart& part : plan.parts) {
    Sequence* sequence = find(part);
    if (sequence == nullptr) continue;
    if (plan.shape.phase == Phase::prefill) {
      sequence->launched = part.first + part.tokens;
      continue;
    }
    sequence->in_flight = true;
    sequence->last_served = turn_;
    stats_.drafted += part.drafts.size();
  }
}

void Scheduler::dropped(const StepPlan& plan) {
  for (const PlanPart& part : plan.parts)
    if (Sequence* sequence = find(part)) trim(*sequence, sequence->launched);
}

void Scheduler::take(const StepPlan& plan, const StepResults& results, std::uint64_t now_ns) {
  static constexpr std::int32_t kNoToken = -1;
  for (std::size_t at = 0; at < plan.parts.size(); ++at) {
    const PlanPart& part = plan.parts[at];
    Sequence* sequence = find(part);
    if (sequence == nullptr || !part.gives) continue;
    std::span<const std::int32_t> tokens = results.next_tokens.subspan(at, 1);
    if (plan.shape.phase == Phase::verify) {
      const std::int32_t accepted = results.accepted[at];
      const bool sound = accepted >= 0 && accepted <= static_cast<std::int32_t>(part.drafts.size());
      const auto width = static_cast<std::size_t>(plan.shape.query_length);
      tokens = sound ? results.next_tokens.subspan(at * width, static_cast<std::size_t>(accepted) + 1)
                     : std::span(&kNoToken, 1);
      if (sound) stats_.accepted += static_cast<std::uint64_t>(accepted);
    }
    sequence->in_flight = false;
    waiting_.erase(part.id);
    running_.insert(part.id);
    deliver(*sequence, tokens, now_ns);
  }
}

void Scheduler::deliver(Sequence& sequence, std::span<const std::int32_t> tokens, std::uint64_t now_ns) {
  std::optional<Finish> end;
  std::uint64_t count = 0;
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary_) {
      end = Finish::failed;
      break;
    }
    sequence.tokens.push_back(token);
    if (sequence.lookup) sequence.lookup->grown(sequence.tokens);
    ++count;
    if (token == eos_ || sequence.stops_at(token)) end = Finish::stop;
    if (!end && sequence.generated() == sequence.request.max_tokens) end = Finish::length;
    if (end) break;
  }
  stats_.tokens_out += count;
  if (count > 0) note_latency(sequence, count, now_ns);
  if (end) return finish(sequence, *end, now_ns);
  sequence.launched = sequence.size() - 1;
  const std::int32_t most = std::min(shapes_.drafts(), sequence.request.max_tokens - sequence.generated() - 1);
  sequence.drafts = sequence.lookup ? sequence.lookup->draft(sequence.tokens, most) : std::vector<std::int32_t>{};
}

/// Tokens that come together share the time since the last one.
void Scheduler::note_latency(Sequence& sequence, std::uint64_t count, std::uint64_t now_ns) {
  if (sequence.first_token_ns == 0) {
    sequence.first_token_ns = std::max<std::uint64_t>(1, now_ns - sequence.submitted_ns);
    stats_.first_token_ns.add(sequence.first_token_ns);
  } else {
    stats_.between_tokens_ns.add((now_ns - sequence.last_token_ns) / count, count);
  }
  sequence.last_token_ns = now_ns;
}

void Scheduler::finish(Sequence& sequence, Finish how, std::uint64_t now_ns) {
  const std::uint64_t id = sequence.id;
  trim(sequence, 0);
  waiting_.erase(id);
  running_.erase(id);
  Completion done;
  done.id = id;
  done.tokens.assign(sequence.tokens.begin() + static_cast<std::ptrdiff_t>(sequence.request.prompt.size()),
                     sequence.tokens.end());
  done.finish = how;
  done.prompt_tokens = sequence.request.prompt.size();
  done.preemptions = sequence.epoch;
  done.first_token_ns = sequence.first_token_ns;
  done.total_ns = now_ns - sequence.submitted_ns;
  if (how != Finish::cancelled) stats_.total_ns.add(done.total_ns);
  stats_.finished.add(to_string(how));
  completions_.push_back(std::move(done));
  sequences_.erase(id);
}

void Scheduler::gauge(EngineStats& stats) const {
  stats.pages = pages_.total();
  stats.pages_in_use = pages_.total() - pages_.free();
  stats.waiting = waiting_.size();
  stats.running = running_.size();
}

}  // namespace refrain
