// The turns of rotary position embedding on the host, with the angles in fp64: a
// position of 2^20 leaves 32 bits behind the radian.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/codec.hpp"

namespace refrain {

struct Turn {
  float cos, sin;
};

[[nodiscard]] inline std::vector<Turn> turns_at(std::int64_t position, double theta, std::int32_t rotary_dim) {
  std::vector<Turn> turns;
  for (std::int32_t i = 0; i < rotary_dim / 2; ++i) {
    const double angle = static_cast<double>(position) * std::pow(theta, -2.0 * i / rotary_dim);
    turns.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))});
  }
  return turns;
}

/// In place: element i of the head's first half of the rotary part with element i of its second half.
inline void rotate_head(void* data, Dtype dtype, std::int64_t first, const std::vector<Turn>& turns) {
  const auto half = static_cast<std::int64_t>(turns.size());
  for (const Turn& turn : turns) {
    const float low = load_as_float(data, dtype, first), high = load_as_float(data, dtype, first + half);
    store_from_float(data, dtype, first, low * turn.cos - high * turn.sin);
    store_from_float(data, dtype, first + half, high * turn.cos + low * turn.sin);
    ++first;
  }
}

}  // namespace refrain
