// The tables of what is watched: single callbacks, never a whole domain, so that the
// rest of the API costs a program nothing.
#pragma once

#include <span>

#include "audit/cupti/decode.hpp"

namespace refrain {

[[nodiscard]] std::span<const WatchedCall> watched_runtime_calls();
[[nodiscard]] std::span<const WatchedCall> watched_driver_calls();

}  // namespace refrain
