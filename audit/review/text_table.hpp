// Columns for a terminal: cells in, lines out. The first column is text and stands
// left, the others are figures and stand right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace refrain {

/// Ends in a newline; each line begins with two blanks. Every row has as many cells as the first, which heads them.
[[nodiscard]] std::string text_table(const std::vector<std::vector<std::string>>& rows);

/// `812 ns`, `12.3 us`, `4.56 ms`, `1.20 s`
[[nodiscard]] std::string time_text(std::uint64_t ns);
/// `12 B`, `3.4 MB`
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

}  // namespace refrain
