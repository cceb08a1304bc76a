// A step from the host's inputs to its results on the host, two ways: through the
// mapped ring (one launch, a polled number), and as most engines do it (a copy an
// input, a launch, a copy a result, a synchronize).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "runtime/driver.hpp"

namespace refrain::bench {

/// One row for xqa_decode of `rows` rows at context 512, each way `steps` times in turn. Throws Error{driver}, and
/// Error{refused} where both ways do not give the same bytes.
[[nodiscard]] nlohmann::ordered_json measure_ring(Driver& driver, std::int32_t rows, std::int64_t steps);

}  // namespace refrain::bench
