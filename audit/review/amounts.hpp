// How a review says times and sizes, on a terminal and on its page.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace refrain {

/// `950 ns`, `12.3 us`, `4.56 ms`, `7.89 s`
[[nodiscard]] std::string duration_text(std::uint64_t ns);
/// `not recorded` for nothing.
[[nodiscard]] std::string duration_text(const std::optional<std::uint64_t>& ns);
/// `512 B`, `4.0 KiB`
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

}  // namespace refrain
