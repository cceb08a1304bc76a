// One run of the grouped route for tests: planned by the twins in the scene's own
// memory, attended by the kernel on a device copy. It checks what any run must
// keep (nothing else is written, replays give the same bits) and leaves the values
// to the caller.
#pragma once

#include <vector>

#include "tests/kernels/scene.hpp"

namespace refrain::test {

struct GroupedOutputs {
  std::vector<std::byte> out;
  std::vector<float> lse;
  /// To the bit; NaN equals the same NaN.
  friend bool operator==(const GroupedOutputs& a, const GroupedOutputs& b);
};

/// `run` must be the last that took memory of its scene: its out and lse are the last two blocks.
[[nodiscard]] GroupedOutputs run_grouped_on_device(GroupedRun& run, bool with_pad_fix, bool zero_unattended);

}  // namespace refrain::test
