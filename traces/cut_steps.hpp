// Cuts a timeline into steps: marks the ranges that are steps, or adds ranges
// where no range tells them. What was used, and why, is part of the answer, since a
// guessed step is weaker evidence than one that the program named. The profiler's
// start and stop are in no step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "traces/timeline.hpp"

namespace refrain {

/// How the steps of a timeline became known, from the surest on.
enum class StepBasis : std::uint8_t {
  marked,         ///< the input marks them itself: a recording of ours
  chosen,         ///< ranges that the user named
  profiler_step,  ///< PyTorch's ProfilerStep#N
  named_range,    ///< ranges named as steps are: `decode_step_3`, `iteration 7`
  replay,         ///< from one graph replay of the main loop to the next
  period,         ///< a sequence of calls that comes again and again
  none,           ///< no steps could be told
};
[[nodiscard]] const char* to_string(StepBasis) noexcept;
/// The program did not say where its steps begin: what is found in them is inferred.
[[nodiscard]] bool is_guessed(StepBasis) noexcept;

struct StepChoice {
  /// Name of the ranges that are steps, `*` and `?` as in a shell; a name without either is meant whole. Empty: choose.
  std::string pattern;
};

struct StepCut {
  StepBasis basis = StepBasis::none;
  std::string why;  ///< one sentence: what was used and why not a surer one
  std::size_t steps = 0;
};

/// Says in Timeline::step_basis what it used. Without a pattern, steps that the input itself says were cut stay as they
/// are (Timeline::steps_told). An earlier cut is taken back first, but for what the input marked and a
/// pattern then replaced. Throws Error{usage} for a pattern that no range has; the message lists names that there are.
StepCut cut_steps(Timeline& timeline, const StepChoice& choice = {});

}  // namespace refrain
