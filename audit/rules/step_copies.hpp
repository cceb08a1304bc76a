// Copies inside a step that make the host wait, each with the sync that only
// waits for it: one cause, which rule 103 reports and rule 102 leaves to it.
#pragma once

#include <vector>

#include "audit/steps.hpp"

namespace refrain {

struct StepCopy {
  const ApiEvent* copy = nullptr;
  const ApiEvent* sync = nullptr;  ///< null when none follows before the next work
};

/// A blocking copy, or one that names pageable memory.
[[nodiscard]] bool makes_host_wait(const ApiEvent& call) noexcept;

[[nodiscard]] std::vector<StepCopy> waiting_copies(const StepCalls& step);

}  // namespace refrain
