#include "audit/steps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "traces/cut_steps.hpp"
#include "traces/step_index.hpp"

namespace refrain {

std::vector<StepCalls> steps_of(const Timeline& timeline) {
  const StepIndex index = index_steps(timeline);
  std::vector<StepCalls> steps;
  for (const RangeEvent* range : index.steps) steps.push_back({range, steps.size() + 1, {}});
  for (std::size_t i = 0; i < timeline.calls.size(); ++i)
    if (index.of_call[i] != StepIndex::kNone) steps[index.of_call[i]].calls.push_back(&timeline.calls[i]);
  return steps;
}

std::string describe_step(const Timeline& timeline, const StepCalls& step, std::size_t of) {
  const std::string& name = timeline.text(step.range->name);
  return fmt::format("step {} of {}{}", step.number, of, name.empty() ? "" : fmt::format(" ({})", name));
}

Certainty step_certainty(const Timeline& timeline) noexcept {
  return is_guessed(timeline.step_basis) ? Certainty::inferred : Certainty::proven;
}

const RangeEvent* innermost_range(const Timeline& timeline, const ApiEvent& call) noexcept {
  const RangeEvent* innermost = nullptr;
  for (const RangeEvent& range : timeline.ranges)
    if (!range.step && range.name != 0 && range.thread == call.thread && range.first <= call.sequence &&
        call.sequence <= range.last && (innermost == nullptr || range.first > innermost->first))
      innermost = &range;
  return innermost;
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
