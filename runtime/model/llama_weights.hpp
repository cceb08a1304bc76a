// Random weights: N(0, 1 / fan_in) for matrices, N(1, 0.1^2) for norms, drawn in one
// order from one generator, so that a seed is a model. (The normal distribution is
// the standard library's: another library may give another model.)
#pragma once

#include "runtime/model/llama_memory.hpp"

namespace refrain {

/// Writes every weight and scale, and fills the pools with 0xFF, so that a token nobody has written reads as NaN.
/// Blocking. Throws Error{driver}.
void load_llama(Driver& driver, const LlamaMemory& memory, const LlamaShape& shape, const ServingLimits& limits);

}  // namespace refrain
