#include "traces/step_stats.hpp"

#include <algorithm>
#include <unordered_map>

#include "traces/call_kinds.hpp"
#include "traces/exec_nodes.hpp"
#include "traces/step_index.hpp"
#include "traces/step_rows.hpp"

namespace refrain {
namespace {

constexpr std::size_t kNoCall = ~std::size_t{0};

std::uint64_t span_ns(std::uint64_t start, std::uint64_t end) {
  return end > start ? end - start : 0;
}

bool is_pinned(MemorySpace space) {
  return space == MemorySpace::pinned;
}

bool is_host(MemorySpace space) {
  return space == MemorySpace::pinned || space == MemorySpace::pageable;
}

/// Host memory that a blocking copy does not tell counts as pageable: it waits as such a copy does.
CopyClass class_of(const ApiEvent& call) {
  const auto h2d = [&] { return is_pinned(call.source_space) ? CopyClass::h2d_pinned : CopyClass::h2d_pageable; };
  const auto d2h = [&] { return is_pinned(call.space) ? CopyClass::d2h_pinned : CopyClass::d2h_pageable; };
  switch (call.api) {
    case Api::memcpy_async_h2d_pageable: return CopyClass::h2d_pageable;
    case Api::memcpy_async_d2h_pageable: return CopyClass::d2h_pageable;
    case Api::memcpy_async_h2d_pinned: return CopyClass::h2d_pinned;
    case Api::memcpy_async_d2h_pinned: return CopyClass::d2h_pinned;
    case Api::memcpy_h2d: return h2d();
    case Api::memcpy_d2h: return d2h();
    case Api::memcpy_d2d:
    case Api::memcpy_async_d2d: return CopyClass::d2d;
    default: break;
  }
  if (is_host(call.source_space) && call.space == MemorySpace::device) return h2d();
  if (call.source_space == MemorySpace::device && is_host(call.space)) return d2h();
  if (call.source_space == MemorySpace::device && call.space == MemorySpace::device) return CopyClass::d2d;
  return CopyClass::other;
}

bool is_copy(Api api) {
  return api != Api::memset && api != Api::memset_async && (is_blocking_copy(api) || is_async_copy(api));
}

/// What the device did for one graph launch.
struct ReplaySpan {
  std::uint64_t start_ns = ~std::uint64_t{0}, end_ns = 0;
  [[nodiscard]] bool known() const { return end_ns >= start_ns; }
};

class Count {
 public:
  Count(const Timeline& timeline, std::span<const Graph> graphs)
      : timeline_(timeline), index_(index_steps(timeline)), nodes_(timeline, graphs), steps_(index_.steps.size()) {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const RangeEvent& range = *index_.steps[i];
      steps_[i].name = range.name;
      steps_[i].thread = range.thread;
      steps_[i].first = range.first;
      steps_[i].last = range.last;
      steps_[i].start_ns = range.start_ns;
      steps_[i].end_ns = range.end_ns;
    }
    first_launch_.assign(steps_.size(), kNoCall);
    unknown_nodes_.assign(steps_.size(), false);
  }

  std::vector<StepStats> run() {
    for (std::size_t i = 0; i < timeline_.calls.size(); ++i) {
      const ApiEvent& call = timeline_.calls[i];
      nodes_.follow(call);
      if (index_.of_call[i] != StepIndex::kNone) count_call(i, call, index_.of_call[i]);
    }
    for (const WorkEvent& work : timeline_.work)
      if (work.call != WorkEvent::kNoCall) count_work(work);
    for (StepStats& step : steps_)
      if (step.device_start_ns) step.gpu_idle_ns = *step.device_end_ns - *step.device_start_ns - *step.gpu_busy_ns;
    gaps();
    tell_rows(timeline_, steps_, index_.steps);
    return std::move(steps_);
  }

 private:
  void count_call(std::size_t i, const ApiEvent& call, std::uint32_t at) {
    StepStats& step = steps_[at];
    if (is_query(call.api)) ++step.queries;
    if (call.code != 0) return;
    const bool ran = ran_at_once(call);
    if (ran && call.api == Api::graph_launch) count_replay(i, call, at);
    if (ran && (call.api == Api::launch_kernel || call.api == Api::launch_kernel_first_use)) {
      ++step.eager_launches;
      if (first_launch_[at] == kNoCall) first_launch_[at] = i;
    }
    if (ran && is_copy(call.api)) {
      Tally& tally = step.copies[static_cast<std::size_t>(class_of(call))];
      ++tally.count;
      tally.bytes += call.bytes;
    }
    if ((is_sync(call.api) && !is_query(call.api)) || (is_copy(call.api) && is_blocking_copy(call.api))) {
      ++step.syncs;
      step.host_wait_ns += span_ns(call.start_ns, call.end_ns);
    }
    count_other(call.api, step);
  }

  void count_replay(std::size_t i, const ApiEvent& call, std::uint32_t at) {
    StepStats& step = steps_[at];
    if (step.replays++ == 0) first_launch_[at] = i;
    const auto nodes = nodes_.of(call.object);
    if (!nodes) unknown_nodes_[at] = true;
    step.captured_nodes = unknown_nodes_[at] ? std::nullopt : std::optional(step.captured_nodes.value_or(0) + *nodes);
  }

  static void count_other(Api api, StepStats& step) {
    switch (api) {
      case Api::graph_instantiate: ++step.instantiations; break;
      case Api::graph_exec_update: ++step.updates; break;
      case Api::module_load: ++step.module_loads; break;
      case Api::malloc:
      case Api::malloc_async:
      case Api::malloc_host:
      case Api::malloc_managed: ++step.allocations; break;
      case Api::free:
      case Api::free_async:
      case Api::free_host: ++step.frees; break;
      default: break;
    }
  }

  // Work comes in the order in which it began, so each step's union of spans grows at its end.
  void count_work(const WorkEvent& work) {
    const std::size_t i = find_call(work.call);
    if (i == kNoCall) return;
    const bool replay = timeline_.calls[i].api == Api::graph_launch;
    const std::uint64_t end = std::max(work.start_ns, work.end_ns);
    const std::uint32_t at = index_.of_call[i];
    if (replay || (at != StepIndex::kNone && first_launch_[at] == i)) {
      ReplaySpan& span = spans_[i];
      span.start_ns = std::min(span.start_ns, work.start_ns);
      span.end_ns = std::max(span.end_ns, end);
    }
    if (at == StepIndex::kNone) return;
    StepStats& step = steps_[at];
    if (replay && work.kind != WorkKind::graph) ++step.replayed_nodes;
    if (replay && work.kind == WorkKind::copy) ++step.replayed_copies;
    if (!step.device_start_ns) {
      step.device_start_ns = step.device_end_ns = work.start_ns;
      step.gpu_busy_ns = 0;
    }
    *step.gpu_busy_ns += span_ns(std::max(*step.device_end_ns, work.start_ns), end);
    *step.device_end_ns = std::max(*step.device_end_ns, end);
  }

  [[nodiscard]] std::size_t find_call(std::uint64_t sequence) {
    const auto& calls = timeline_.calls;
    if (hint_ < calls.size() && calls[hint_].sequence == sequence) return hint_;
    const auto at = std::lower_bound(calls.begin(), calls.end(), sequence,
                                     [](const ApiEvent& call, std::uint64_t s) { return call.sequence < s; });
    if (at == calls.end() || at->sequence != sequence) return kNoCall;
    return hint_ = static_cast<std::size_t>(at - calls.begin());
  }

  void gaps() {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (const auto span = spans_.find(first_launch_[i]); span != spans_.end())
        steps_[i].launch_gap_ns = span_ns(timeline_.calls[first_launch_[i]].start_ns, span->second.start_ns);
    std::unordered_map<std::uint32_t, std::optional<std::uint64_t>> ends;  // of the thread's replay before
    for (std::size_t i = 0; i < timeline_.calls.size(); ++i) {
      const ApiEvent& call = timeline_.calls[i];
      if (call.api != Api::graph_launch || !ran_at_once(call)) continue;
      const auto span = spans_.find(i);
      std::optional<std::uint64_t>& end = ends[call.thread];
      const std::uint32_t at = index_.of_call[i];
      if (at != StepIndex::kNone && first_launch_[at] == i && end && span != spans_.end())
        steps_[at].between_replays_ns = span_ns(*end, span->second.start_ns);
      end = span == spans_.end() ? std::nullopt : std::optional(span->second.end_ns);
    }
  }

  const Timeline& timeline_;
  StepIndex index_;
  ExecNodes nodes_;
  std::vector<StepStats> steps_;
  std::vector<std::size_t> first_launch_;  // of a step: its first graph launch, else its first launch
  std::vector<bool> unknown_nodes_;
  std::unordered_map<std::size_t, ReplaySpan> spans_;  // by call: graph launches, and first launches of steps
  std::size_t hint_ = 0;
};

void add(std::optional<std::uint64_t>& sum, const std::optional<std::uint64_t>& value, std::uint64_t& known) {
  if (!value) return;
  sum = sum.value_or(0) + *value;
  ++known;
}

}  // namespace

const char* to_string(CopyClass copy) noexcept {
  switch (copy) {
    case CopyClass::h2d_pageable: return "h2d pageable";
    case CopyClass::h2d_pinned: return "h2d pinned";
    case CopyClass::d2h_pageable: return "d2h pageable";
    case CopyClass::d2h_pinned: return "d2h pinned";
    case CopyClass::d2d: return "d2d";
    case CopyClass::other: return "other";
  }
  return "unknown";
}

std::vector<StepStats> step_stats(const Timeline& timeline, std::span<const Graph> graphs) {
  return Count(timeline, graphs).run();
}

StepTotals total(const std::vector<StepStats>& steps) {
  StepTotals totals;
  StepStats& sum = totals.sum;
  std::uint64_t idle_known = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepStats& step = steps[i];
    const StepStats& worst = steps[totals.worst];
    if (span_ns(step.start_ns, step.end_ns) > span_ns(worst.start_ns, worst.end_ns)) totals.worst = i;
    totals.host_ns += span_ns(step.start_ns, step.end_ns);
    ++totals.steps;
    sum.replays += step.replays;
    sum.replayed_nodes += step.replayed_nodes;
    sum.eager_launches += step.eager_launches;
    sum.syncs += step.syncs;
    sum.queries += step.queries;
    for (std::size_t c = 0; c < kCopyClasses; ++c) {
      sum.copies[c].count += step.copies[c].count;
      sum.copies[c].bytes += step.copies[c].bytes;
    }
    sum.replayed_copies += step.replayed_copies;
    sum.instantiations += step.instantiations;
    sum.updates += step.updates;
    sum.module_loads += step.module_loads;
    sum.allocations += step.allocations;
    sum.frees += step.frees;
    sum.host_wait_ns += step.host_wait_ns;
    add(sum.captured_nodes, step.captured_nodes, totals.with_captured_nodes);
    add(sum.gpu_busy_ns, step.gpu_busy_ns, totals.with_device_time);
    add(sum.gpu_idle_ns, step.gpu_idle_ns, idle_known);
    add(sum.launch_gap_ns, step.launch_gap_ns, totals.with_launch_gap);
    add(sum.between_replays_ns, step.between_replays_ns, totals.with_time_between);
    add(sum.rows, step.rows, totals.with_rows);
    add(sum.real_rows, step.real_rows, totals.with_real_rows);
  }
  return totals;
}

}  // namespace refrain
