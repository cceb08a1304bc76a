// Replay checks, which need no contract: fill what must not matter, replay, and
// the output must be finite and bit-equal to the unpoisoned replay; a second
// replay must repeat the first; and the graph must equal the eager run. The
// checks go into the recording, and rules 901 to 904 judge them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audit/report.hpp"
#include "runtime/driver.hpp"
#include "runtime/steps/options.hpp"
#include "traces/recording.hpp"

namespace refrain {

struct AxisResult {
  std::string name;  ///< a poison axis, `fresh memory`, `repeat` or `eager`
  std::string fill;  ///< `none` for the last three
  bool finite = true;
  bool bit_equal = true;
  std::optional<double> max_abs_error;  ///< against the unpoisoned replay, over finite elements
};

struct VerifyResult {
  StepOptions options;
  DeviceInfo device;
  std::string refused;  ///< why nothing was replayed; empty when it was
  std::vector<AxisResult> axes;
  std::optional<NodeId> first_nan_node;
  std::string first_nan_name;  ///< `node 3 (grouped_attention)`
  Report report;               ///< contracts and replay checks
  Recording recording;

  [[nodiscard]] int exit_code() const { return report.exit_code(); }
};

/// Throws Error{usage, driver, refused} like run_step.
[[nodiscard]] VerifyResult verify_step(Driver& driver, const StepOptions& options);

}  // namespace refrain
