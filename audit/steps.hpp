// The serving steps of a timeline, each with the calls that its own thread made
// in it outside any capture of that thread: what the hot path pays. A call inside
// nested step ranges belongs to the innermost. What other threads did at the same
// time is no part of a step.
#pragma once

#include <string>
#include <vector>

#include "audit/report.hpp"
#include "audit/subject.hpp"
#include "traces/call_kinds.hpp"

namespace refrain {

struct StepCalls {
  const RangeEvent* range = nullptr;
  std::size_t number = 0;  ///< 1-based, in the order in which the steps began
  std::vector<const ApiEvent*> calls;
};

[[nodiscard]] std::vector<StepCalls> steps_of(const Timeline& timeline);

/// `step 2 of 5 (decode)`
[[nodiscard]] std::string describe_step(const Timeline& timeline, const StepCalls& step, std::size_t of);

/// Of what is found in the steps: proven where the program named them, inferred where they were guessed.
[[nodiscard]] Certainty step_certainty(const Timeline& timeline) noexcept;

/// The range of the call's own thread, no step itself, that was opened last around it; null where there is none.
[[nodiscard]] const RangeEvent* innermost_range(const Timeline& timeline, const ApiEvent& call) noexcept;

/// The recordings that mark steps; the reason why a rule cannot look at the others is reported.
[[nodiscard]] std::vector<const Recording*> recordings_with_steps(const SubjectView& view, Report& report,
                                                                  std::string_view rule);

}  // namespace refrain
