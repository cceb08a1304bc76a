#include "audit/review/finding_place.hpp"

#include <algorithm>

namespace refrain {
namespace {

/// The innermost step of the call's thread: of those that hold it, the one that began last.
std::optional<std::size_t> step_of(const Review& review, const ApiEvent& call) {
  for (std::size_t i = review.steps.size(); i-- > 0;)
    if (belongs_to(call, review.steps[i])) return i;
  return {};
}

}  // namespace

bool belongs_to(const ApiEvent& call, const StepStats& step) noexcept {
  return call.thread == step.thread && step.first <= call.sequence && call.sequence <= step.last;
}

const ApiEvent* find_call(const Timeline& timeline, std::uint64_t sequence) {
  const auto& calls = timeline.calls;
  const auto at = std::lower_bound(calls.begin(), calls.end(), sequence,
                                   [](const ApiEvent& call, std::uint64_t wanted) { return call.sequence < wanted; });
  return at != calls.end() && at->sequence == sequence ? &*at : nullptr;
}

FindingPlace place_of(const Review& review, const Finding& finding) {
  FindingPlace place;
  if (finding.call) place.call = find_call(review.timeline(), *finding.call);
  if (finding.step && *finding.step >= 1 && *finding.step <= review.steps.size())
    place.step = *finding.step - 1;
  else if (place.call != nullptr)
    place.step = step_of(review, *place.call);
  if (place.call != nullptr)
    place.at_ns = place.call->start_ns;
  else if (place.step)
    place.at_ns = review.steps[*place.step].start_ns;
  return place;
}

}  // namespace refrain
