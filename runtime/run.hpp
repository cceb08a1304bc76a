// The main job in one call: capture a step, audit the graph, replay it, and
// compare what came out with an fp64 reference and with the XQA route.
#pragma once

#include <optional>

#include "audit/report.hpp"
#include "runtime/driver.hpp"
#include "runtime/output.hpp"
#include "runtime/steps/fills.hpp"
#include "runtime/steps/options.hpp"
#include "traces/recording.hpp"

namespace refrain {

struct RunOptions {
  StepOptions step;
  std::int32_t replays = 3;  ///< 1 to 1,000,000
  Poison poison = Poison::none;
};

/// What the replays gave. NaN figures are of the last replay; errors are maxima over finite elements.
struct ReplaySummary {
  std::int32_t count = 0;
  bool bit_equal = true;  ///< every replay's output and LSE equal the first's, pad rows included
  NanFigures nan;
  std::optional<double> max_abs_error_reference;
  bool has_other_route = false;
  std::optional<double> max_abs_error_xqa;  ///< against the other route
  Output output;                            ///< of the last replay
};

struct RunResult {
  RunOptions options;
  DeviceInfo device;
  std::optional<Graph> graph;  ///< absent after a failed capture
  std::string refused;         ///< why there is no replay: the first violation, or a pointer that went stale
  Report audit;
  std::optional<ReplaySummary> replay;
  Recording recording;  ///< everything that was judged

  /// 1 when the audit has errors or the output has a NaN, else 0.
  [[nodiscard]] int exit_code() const;
};

/// Throws Error{usage} for options that do not fit and Error{driver|refused} when the world fails outside the capture.
/// A graph that points into freed memory, or reaches past the end of what it has, is never launched: the result says so
/// and has no replay.
[[nodiscard]] RunResult run_step(Driver& driver, const RunOptions& options);

/// Why a graph must not be launched: its first finding about memory that was freed under it or is not its own; empty
/// when there is none.
[[nodiscard]] std::string dangling_pointer(const Report& report);

}  // namespace refrain
