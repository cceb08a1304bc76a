// Which K/V scales a draft verification is served with, and whether it is at all:
// E4M3 KV under a draft is admitted only where somebody says so, and a draft layer
// without calibrated K and V never is. fp16 and bf16 caches need no scales.
#pragma once

#include <array>

#include "runtime/steps/options.hpp"

namespace refrain {

/// The target layer's K and V scale for the step; {1, 1} for a cache that is not E4M3. Of `options.scales` (its first
/// target layer), else calibrated on the values that the step's data is drawn from. Throws Error{refused} for what is
/// not admitted, and as load_scales does for a path.
[[nodiscard]] std::array<float, 2> admitted_scales(const StepOptions& options);

}  // namespace refrain
