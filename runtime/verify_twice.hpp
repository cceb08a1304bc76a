// The same step captured twice: for other lengths, other values and in other memory.
// What the two graphs' kernel parameters have different, and no allocation that
// moved accounts for, was baked in at capture time: rule 405 says so. Nothing is
// replayed.
#pragma once

#include <string>

#include "audit/report.hpp"
#include "runtime/driver.hpp"
#include "runtime/steps/options.hpp"
#include "traces/recording.hpp"

namespace refrain {

struct TwiceResult {
  StepOptions first, second;
  DeviceInfo device;
  std::string refused;  ///< why there are not two graphs: the first violation; empty when there are
  Report report;        ///< every rule over the recording of both
  Recording recording;

  [[nodiscard]] int exit_code() const { return report.exit_code(); }
};

/// The step that goes to the same graph as `options`: one row and one token fewer where the bucket and the pages allow
/// it, and another seed.
[[nodiscard]] StepOptions other_in_bucket(const StepOptions& options);

/// Throws Error{usage, driver, refused} like run_step; of memory it takes twice what the step does.
[[nodiscard]] TwiceResult verify_twice(Driver& driver, const StepOptions& options);

}  // namespace refrain
