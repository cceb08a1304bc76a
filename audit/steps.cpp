#include "audit/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/captures.hpp"

namespace refrain {
namespace {

/// The step ranges of one thread, and those that are open at the call that is looked at.
struct ThreadSteps {
  std::vector<std::size_t> steps;  // by begin, the outer one first
  std::size_t next = 0;
  std::vector<std::size_t> open;
};

class Sweep {
 public:
  explicit Sweep(const Timeline& timeline) {
    for (const RangeEvent& range : timeline.ranges)
      if (range.step) out_.push_back({&range, 0, {}});
    std::stable_sort(out_.begin(), out_.end(), [](const StepCalls& a, const StepCalls& b) {
      return a.range->first != b.range->first ? a.range->first < b.range->first : a.range->last > b.range->last;
    });
    for (std::size_t i = 0; i < out_.size(); ++i) {
      out_[i].number = i + 1;
      threads_[out_[i].range->thread].steps.push_back(i);
    }
    for (const CaptureWindow& capture : captures_of(timeline)) capture_thread_[capture.id] = capture.thread;
  }

  std::vector<StepCalls> run(const Timeline& timeline) {
    for (const ApiEvent& call : timeline.calls) {
      const auto thread = threads_.find(call.thread);
      if (thread == threads_.end() || in_own_capture(call)) continue;
      if (StepCalls* step = innermost(thread->second, call.sequence)) step->calls.push_back(&call);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool in_own_capture(const ApiEvent& call) const {
    const auto capture = capture_thread_.find(call.capture);
    return capture != capture_thread_.end() && capture->second == call.thread;
  }

  StepCalls* innermost(ThreadSteps& thread, std::uint64_t sequence) {
    while (thread.next < thread.steps.size() && out_[thread.steps[thread.next]].range->first <= sequence)
      thread.open.push_back(thread.steps[thread.next++]);
    while (!thread.open.empty() && out_[thread.open.back()].range->last < sequence) thread.open.pop_back();
    return thread.open.empty() ? nullptr : &out_[thread.open.back()];
  }

  std::vector<StepCalls> out_;
  std::map<std::uint32_t, ThreadSteps> threads_;
  std::map<std::uint32_t, std::uint32_t> capture_thread_;
};

}  // namespace

std::vector<StepCalls> steps_of(const Timeline& timeline) {
  return Sweep(timeline).run(timeline);
}

std::string describe_step(const Timeline& timeline, const StepCalls& step, std::size_t of) {
  const std::string& name = timeline.text(step.range->name);
  return fmt::format("step {} of {}{}", step.number, of, name.empty() ? "" : fmt::format(" ({})", name));
}

bool submits_work(Api api) noexcept {
  if (is_launch(api) || is_async_copy(api) || is_blocking_copy(api)) return true;
  switch (api) {
    case Api::graph_launch:
    case Api::mem_prefetch_async:
    case Api::stream_add_callback:
    case Api::cublas_gemm:
    case Api::cublas_gemm_own_workspace: return true;
    default: return false;
  }
}

std::vector<const Recording*> recordings_with_steps(const SubjectView& view, Report& report, std::string_view rule) {
  std::vector<const Recording*> with_steps;
  if (view.timelines().size() < view.subject().recordings.size() || view.timelines().empty())
    report.not_checked(rule, "a graph alone does not show the calls made in a step");
  for (const Recording* recording : view.timelines()) {
    const auto& ranges = recording->timeline.ranges;
    if (std::any_of(ranges.begin(), ranges.end(), [](const RangeEvent& range) { return range.step; }))
      with_steps.push_back(recording);
    else
      report.not_checked(rule,
                         "no range of the recording is marked as a step: which calls are on the hot path is not "
                         "known");
  }
  return with_steps;
}

}  // namespace refrain
