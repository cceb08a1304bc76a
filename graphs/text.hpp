// Small helpers for the readers: words, numbers and short quotations. Nothing
// here throws. Invariant: what `excerpt` returns is one printable ASCII line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace refrain {

/// At most 40 characters of the input; other bytes than printable ASCII become `?`, and `...` marks a cut.
[[nodiscard]] std::string excerpt(std::string_view text);

/// Without the blanks, tabs and line ends on both sides.
[[nodiscard]] std::string_view trim(std::string_view text) noexcept;

/// A whole decimal number, or a whole hexadecimal one after `0x`; nothing on any other character or past 64 bits.
[[nodiscard]] std::optional<std::uint64_t> parse_unsigned(std::string_view text) noexcept;

/// The text without a UTF-8 byte order mark at its front.
[[nodiscard]] std::string_view skip_byte_order_mark(std::string_view text) noexcept;

/// The whole of the name; `*` stands for any characters, `?` for one.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view name) noexcept;

}  // namespace refrain
