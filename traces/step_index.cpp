#include "traces/step_index.hpp"

#include <algorithm>
#include <unordered_map>

namespace refrain {
namespace {

/// The steps of one thread, and those that are open at the call that is looked at.
struct ThreadSteps {
  std::vector<std::uint32_t> steps;  // by begin, the outer one first
  std::size_t next = 0;
  std::vector<std::uint32_t> open;
};

class Sweep {
 public:
  explicit Sweep(const Timeline& timeline) {
    for (const RangeEvent& range : timeline.ranges)
      if (range.step) index_.steps.push_back(&range);
    std::stable_sort(index_.steps.begin(), index_.steps.end(), [](const RangeEvent* a, const RangeEvent* b) {
      return a->first != b->first ? a->first < b->first : a->last > b->last;
    });
    for (std::uint32_t i = 0; i < index_.steps.size(); ++i) threads_[index_.steps[i]->thread].steps.push_back(i);
  }

  StepIndex run(const Timeline& timeline) {
    index_.of_call.reserve(timeline.calls.size());
    for (const ApiEvent& call : timeline.calls)
      index_.of_call.push_back(in_own_capture(call) ? StepIndex::kNone : at(call));
    return std::move(index_);
  }

 private:
  /// A capture is its first call's thread's.
  bool in_own_capture(const ApiEvent& call) {
    return call.capture != 0 && capture_thread_.try_emplace(call.capture, call.thread).first->second == call.thread;
  }

  std::uint32_t at(const ApiEvent& call) {
    const auto found = threads_.find(call.thread);
    if (found == threads_.end()) return StepIndex::kNone;
    ThreadSteps& thread = found->second;
    while (thread.next < thread.steps.size() && index_.steps[thread.steps[thread.next]]->first <= call.sequence)
      thread.open.push_back(thread.steps[thread.next++]);
    while (!thread.open.empty() && index_.steps[thread.open.back()]->last < call.sequence) thread.open.pop_back();
    return thread.open.empty() ? StepIndex::kNone : thread.open.back();
  }

  StepIndex index_;
  std::unordered_map<std::uint32_t, ThreadSteps> threads_;
  std::unordered_map<std::uint32_t, std::uint32_t> capture_thread_;
};

}  // namespace

StepIndex index_steps(const Timeline& timeline) {
  return Sweep(timeline).run(timeline);
}

}  // namespace refrain
