// What serving limits mean for one phase: how large its steps get, and which steps are
// outside the limits, in words. It knows no model.
#pragma once

#include "runtime/model/model.hpp"

namespace refrain {

/// The largest step of one phase; rows 0: the phase is not served.
struct PhaseSize {
  std::int32_t rows = 0;         ///< tokens
  std::int32_t logits_rows = 0;  ///< of them that go through the head
};
[[nodiscard]] PhaseSize size_of(const ServingLimits& limits, Phase phase) noexcept;

/// Why no model is made for these limits, in one line; empty when one is.
[[nodiscard]] std::string unfit_limits(const ServingLimits& limits);
/// Why a step is outside the limits, in one line with what would be admitted; empty when it is inside.
[[nodiscard]] std::string outside_limits(const ServingLimits& limits, const StepShape& step);

}  // namespace refrain
