// What a Llama-shaped decoder's memory holds before its first step.
#pragma once

#include "runtime/model/llama_memory.hpp"

namespace refrain {

/// Writes every weight and scale, and fills the pools with 0xFF, so that a token nobody has written reads as NaN.
/// Blocking. Throws Error{driver}.
void load_llama(Driver& driver, const LlamaMemory& memory, const LlamaShape& shape, const ServingLimits& limits);

}  // namespace refrain
