// The StepKey of a step that make_step() made. The one place that knows which options
// of a step end up inside its graph; a step with faults has the key of one without.
#pragma once

#include "runtime/step_key.hpp"
#include "runtime/steps/step.hpp"

namespace refrain {

[[nodiscard]] Phase phase_of(StepKind step) noexcept;

/// `registry` is the one that the step's leases are in: every buffer that lives there now counts as one that the graph
/// may name, and its weights as scales.
[[nodiscard]] StepKey key_of(const Step& step, const BufferRegistry& registry);

}  // namespace refrain
