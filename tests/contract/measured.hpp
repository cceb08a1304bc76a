// What CUDA was measured to do to a call made during a capture, as the contract
// suite expects it of every driver. Independent of graphs/capture_rules on
// purpose: that table is what the host driver obeys, this one is what was seen.
#pragma once

#include <array>
#include <span>

namespace refrain::test {

/// Return code of the call, of cudaStreamEndCapture, and nodes in the graph (one kernel was captured before the call).
struct Cell {
  int code, end_code, nodes;
};

/// Columns are global, thread_local, relaxed.
struct MeasuredRow {
  const char* label;
  std::array<Cell, 3> same_thread, other_thread;
};

/// Measured from the capturing thread alone; `blocking`: the capture stream synchronises with the legacy stream.
struct SameThreadRow {
  const char* label;
  bool blocking;
  std::array<Cell, 3> cells;
};

[[nodiscard]] std::span<const MeasuredRow> measured_rows();
[[nodiscard]] std::span<const SameThreadRow> same_thread_rows();

}  // namespace refrain::test
