// How many rows of a bucket are real: a count that the host or the graph writes
// to device memory before every launch. Whatever stands there, no row past the
// bucket is touched. The same arithmetic on host and device.
#pragma once

#include <cstdint>

namespace refrain {

[[nodiscard]] constexpr std::int32_t clamp_rows(std::int32_t given, std::int32_t bucket) noexcept {
  return given < 0 ? 0 : given < bucket ? given : bucket;
}

}  // namespace refrain
