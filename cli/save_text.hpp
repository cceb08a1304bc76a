// Files that the program writes; traces/readers.hpp reads them.
#pragma once

#include <string>

namespace refrain {

/// Replaces `file` with `text`, by way of a temporary file beside it: whole or not at all. Throws Error{input}.
/// A signal that would end the program waits until the file is in place.
void save_text(const std::string& file, const std::string& text);

/// To standard output where no file is named.
void print_or_save(const std::string& file, const std::string& text);

/// Standard output is a terminal whose owner has not said no.
[[nodiscard]] bool wants_colour();

}  // namespace refrain
