// Files that the program writes; traces/readers.hpp reads them.
#pragma once

#include <string>

namespace refrain {

/// Replaces `file` with `text`, by way of a temporary file beside it: whole or not at all. Throws Error{input}.
void save_text(const std::string& file, const std::string& text);

}  // namespace refrain
