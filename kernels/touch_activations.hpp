// Contract entries that the ops of a decoder layer share. An activation comes from
// the graph itself and goes on in it: what it is for is its buffer's to say, so
// its role is left open.
#pragma once

#include <cassert>

#include "kernels/touch_inputs.hpp"

namespace refrain {

inline Access read_activation(const void* data, std::uint64_t count, Dtype dtype) {
  return touch(static_cast<const std::byte*>(data), count, Mode::read, Role::unknown, dtype);
}

inline Access write_activation(const void* data, std::uint64_t count, Dtype dtype) {
  return touch(static_cast<const std::byte*>(data), count, Mode::write, Role::unknown, dtype);
}

inline Access read_weights(const void* data, std::uint64_t count, Dtype dtype, Reach reach = Reach::exact) {
  return touch(static_cast<const std::byte*>(data), count, Mode::read, Role::weights, dtype, reach);
}

/// All reads but those of `awaited`: of an op whose `rest_is_done`.
inline void read_before_wait(Contract& contract, const void* awaited) {
  for (Access& access : contract.accesses)
    access.before_wait = access.mode == Mode::read && access.base != reinterpret_cast<Address>(awaited);
}

inline void assert_half([[maybe_unused]] Dtype dtype) {
  assert(dtype == Dtype::fp16 || dtype == Dtype::bf16);
}

inline void assert_logits([[maybe_unused]] Dtype dtype) {
  assert(dtype == Dtype::fp32 || dtype == Dtype::fp16 || dtype == Dtype::bf16);
}

}  // namespace refrain
