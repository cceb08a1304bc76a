// The main job in one call: capture a step, audit the graph, replay it, and
// compare what came out with an fp64 reference and with the XQA route.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "audit/report.hpp"
#include "runtime/driver.hpp"
#include "runtime/steps/options.hpp"
#include "runtime/steps/poison.hpp"

namespace refrain {

struct RunOptions {
  StepOptions step;
  std::int32_t replays = 3;  ///< 1 to 1,000,000
  Poison poison = Poison::none;
};

/// What the replays gave. NaN figures are of the real rows after the last replay; errors are maxima over
/// finite elements, absent where there are none.
struct ReplaySummary {
  std::int32_t count = 0;
  bool bit_equal = true;  ///< every replay's output and LSE equal the first's, pad rows included
  std::int64_t nan_count = 0;
  std::vector<std::int32_t> nan_dims, nan_rows;
  std::optional<double> max_abs_error_reference, max_abs_error_xqa;
  std::vector<std::byte> out;  ///< [bucket, heads, dim] of the last replay
  std::vector<float> lse;      ///< [bucket, heads]
};

struct RunResult {
  RunOptions options;
  DeviceInfo device;
  std::optional<Graph> graph;  ///< absent after a failed capture
  std::string capture_error;   ///< the first violation; empty when the capture ended well
  Report audit;
  std::optional<ReplaySummary> replay;

  /// 1 when the audit has errors or the output has a NaN, else 0.
  [[nodiscard]] int exit_code() const;
};

/// Throws Error{usage} for options that do not fit and Error{driver|refused} when the world fails outside the capture.
[[nodiscard]] RunResult run_step(Driver& driver, const RunOptions& options);

}  // namespace refrain
