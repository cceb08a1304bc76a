// What must not matter to a sparse MLA step: its poison axes, and page 0.
#pragma once

#include <vector>

#include "runtime/steps/fills.hpp"
#include "runtime/steps/mla/buffers.hpp"

namespace refrain {

/// Those of pad rows, pad tables, null block, scratch page 0, scratch, unused pages, page tails, unattended records,
/// indices past length, partials, split LSE and output that the step has. Both arguments must outlive the axes.
[[nodiscard]] std::vector<PoisonAxis> mla_axes(const MlaBuffers& buffers, const MlaInputs& inputs);

/// The pool's page 0, blocking: Poison::null_block makes every value that V takes part in NaN, Poison::random_page0
/// all bytes random. Throws Error{driver}.
void poison_mla_page0(Driver& driver, const MlaBuffers& buffers, Poison poison);

}  // namespace refrain
