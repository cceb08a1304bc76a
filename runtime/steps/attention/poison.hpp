// What must not matter to an attention step: its poison axes, and the report's page 0.
#pragma once

#include <vector>

#include "runtime/steps/attention/buffers.hpp"
#include "runtime/steps/fills.hpp"

namespace refrain {

/// The five head dims of the report; their value bytes in tokens 0..3 of page 0 become NaN.
inline constexpr std::int32_t kPoisonedDims[] = {102, 152, 168, 170, 230};

/// Those of pad rows, pad tables, null block, page tails, unused pages, plan, scratch, partials, LSE, table past length
/// and output that the step has. Both arguments must outlive the axes.
[[nodiscard]] std::vector<PoisonAxis> attention_axes(const AttentionBuffers& buffers, const AttentionInputs& inputs);

/// Poison::null_block and Poison::random_page0, blocking. Throws Error{driver}.
void poison_page0(Driver& driver, const AttentionBuffers& buffers, Poison poison);

}  // namespace refrain
