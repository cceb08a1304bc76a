// What an attention-only model's memory holds before its first step.
#pragma once

#include "runtime/model/attention_only_memory.hpp"

namespace refrain {

/// Writes every weight and scale, and fills the pools with 0xFF, so that a token nobody has written reads as NaN.
/// Blocking. Throws Error{driver}.
void load_attention_only(Driver& driver, const AttentionOnlyMemory& memory, const AttentionOnlyShape& shape,
                         const ServingLimits& limits);

}  // namespace refrain
