// The options that `run` and `verify` share: which step, on which device, with
// which faults.
#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "runtime/steps/options.hpp"

namespace refrain {

struct StepFlags {
  StepOptions options;
  std::string device = "auto";
  std::vector<std::string> faults;
  bool step_given = false;

  /// The options with their faults. Throws Error{usage} without a step or for a fault that nobody knows.
  [[nodiscard]] StepOptions parsed() const;
};

void add_step_flags(Options app, StepFlags& flags);

}  // namespace refrain
