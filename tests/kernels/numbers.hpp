// Random numbers in a dtype, and how far a rounding to one may move a value: what
// the decoder's oracles measure their distances in.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/codec.hpp"
#include "tests/kernels/scene.hpp"

namespace refrain::test {

inline constexpr Dtype kHalves[] = {Dtype::fp16, Dtype::bf16};

inline void fill_normal(void* data, Dtype dtype, std::int64_t first, std::int64_t count, float scale, Rng& rng) {
  std::normal_distribution<float> normal;
  for (std::int64_t i = first; i < first + count; ++i) store_from_float(data, dtype, i, scale * normal(rng));
}

/// Half a step of the dtype at `value`: the most that rounding to nearest moves it.
[[nodiscard]] inline double half_step(Dtype dtype, double value) {
  const double magnitude = std::abs(value);
  switch (dtype) {
    case Dtype::fp16: return std::max(magnitude * 0x1p-11, 0x1p-25);
    case Dtype::bf16: return std::max(magnitude * 0x1p-8, 0x1p-134);
    default: return std::max(magnitude * 0x1p-24, 0x1p-150);
  }
}

/// Poisoned memory for `count` elements of the dtype.
[[nodiscard]] inline std::byte* take_elements(Memory& memory, Dtype dtype, std::int64_t count) {
  return memory.take_bytes(static_cast<std::size_t>(count) * dtype_bytes(dtype));
}

}  // namespace refrain::test
