// Filling what must not matter with bytes that would show. An axis is one kind of
// memory that no result may rest on; a fill is what to put there. `refrain run`
// has three coarse poisons made of them, `refrain verify` goes through them all.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/steps/buffers.hpp"

namespace refrain {

enum class Poison : std::uint8_t { none, null_block, random_page0, all };

/// The five head dims of the report; their value bytes in tokens 0..3 of page 0 become NaN.
inline constexpr std::int32_t kPoisonedDims[] = {102, 152, 168, 170, 230};

enum class Fill : std::uint8_t {
  ones,        ///< 0xFF: NaN in fp32, fp16, bf16 and E4M3; -1 as an index
  quiet_nan,   ///< 0x7F bytes: NaN in E4M3, finite and large in fp16
  fp16_inf,    ///< 0x7C00
  fp16_state,  ///< random fp16 values, as recurrent state of a hybrid model leaves them
  int_max,     ///< as an index
  stale_id,    ///< a valid id of an earlier step
};
[[nodiscard]] const char* to_string(Fill) noexcept;

/// One axis: where it applies, which fills it knows, and how it is filled, blocking.
struct PoisonAxis {
  const char* name;
  bool (*applies)(const StepOptions&);
  std::span<const Fill> fills;
  void (*apply)(Driver&, const StepBuffers&, const StepInputs&, Fill);
};
/// pad rows, pad tables, null block, page tails, unused pages, plan, scratch, partials, LSE, table past length, output.
[[nodiscard]] std::span<const PoisonAxis> poison_axes();

/// Before a replay, blocking. `all` is every axis with its first fill. Throws Error{driver}.
void apply_poison(Driver& driver, const StepBuffers& buffers, const StepInputs& inputs, Poison poison);

}  // namespace refrain
