// How the page says numbers and names: short enough for a cell, exact enough to act on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "audit/review/review.hpp"

namespace refrain {

/// `950 ns`, `12.3 us`, `4.56 ms`, `7.89 s`
[[nodiscard]] std::string duration_text(std::uint64_t ns);
/// `not recorded` for nothing.
[[nodiscard]] std::string duration_text(const std::optional<std::uint64_t>& ns);
/// `512 B`, `4.0 KiB`
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);
[[nodiscard]] std::uint64_t host_ns(const StepStats& step) noexcept;

/// Of a name from the trace, quoted for HTML: one line of at most 48 characters.
[[nodiscard]] std::string name_text(std::string_view name);
/// The same for a sentence, of at most 300 characters.
[[nodiscard]] std::string sentence_text(std::string_view sentence);
/// `step 3 (decode_step_3)`, quoted for HTML; `step` from 0 on.
[[nodiscard]] std::string step_text(const Review& review, std::size_t step);

}  // namespace refrain
