// From a file's name to graphs: reads it whole, finds the reader that knows it.
#pragma once

#include <string>
#include <vector>

#include "graphs/graph.hpp"

namespace refrain {

/// Throws Error{input} for a file that is missing, unreadable, empty, or in no format that a reader knows.
[[nodiscard]] std::vector<Graph> load_graphs(const std::string& file);

/// Replaces `file` with `text`, by way of a temporary file beside it: whole or not at all. Throws Error{input}.
void save_text(const std::string& file, const std::string& text);

}  // namespace refrain
