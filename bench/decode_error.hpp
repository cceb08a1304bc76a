// How far a decoded row is from an fp64 attention over the same cache: the pages of
// one request are read back and decoded, and softmax and sums are done in fp64. It
// shares no code with the kernels but the number formats.
#pragma once

#include "kernels/xqa_decode.hpp"

namespace refrain::bench {

/// Largest absolute error over all query heads of KV head 0 in the last row, whose request has the row's number. Dense
/// caches only; scales are 1. Waits for the device.
[[nodiscard]] double last_row_error(const XqaDecodeArgs& decode, std::int32_t context);

}  // namespace refrain::bench
