// Filling what must not matter with bytes that would show: the null block as in
// the report, random bytes over page 0, or everything that no result may rest on.
#pragma once

#include <cstdint>

#include "runtime/steps/buffers.hpp"

namespace refrain {

enum class Poison : std::uint8_t { none, null_block, random_page0, all };

/// The five head dims of the report; their value bytes in tokens 0..3 of page 0 become NaN.
inline constexpr std::int32_t kPoisonedDims[] = {102, 152, 168, 170, 230};

/// Before a replay, blocking. `all` also covers pages that nobody owns, the tails of last pages, plans, split
/// partials and counters, outputs, and page-table entries past the length. Throws Error{driver}.
void apply_poison(Driver& driver, const StepBuffers& buffers, const StepInputs& inputs, Poison poison);

}  // namespace refrain
