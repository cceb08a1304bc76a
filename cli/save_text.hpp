// Files that the program writes; traces/readers.hpp reads them.
#pragma once

#include <string>

namespace refrain {

/// Replaces `file` with `text`, whole or not at all; compressed where its name ends in `.gz`. Throws Error{input}.
void save_text(const std::string& file, const std::string& text);

/// To standard output where no file is named.
void print_or_save(const std::string& file, const std::string& text);

/// Standard output is a terminal whose owner has not said no.
[[nodiscard]] bool wants_colour();

}  // namespace refrain
