// Columns for a terminal: cells in, lines out. The first column is text and stands
// left, the others are figures and stand right.
#pragma once

#include <string>
#include <vector>

namespace refrain {

/// Ends in a newline; each line begins with two blanks. Every row has as many cells as the first, which heads them.
[[nodiscard]] std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace refrain
