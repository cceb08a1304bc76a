// A program run in front of the user's terminal: it has this program's standard
// input, output and error, and gets the signals that this program gets.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace refrain {

using Environment = std::vector<std::pair<std::string, std::string>>;

/// Its exit code; 128 and the signal's number where a signal ended it, as shells say it. `added` goes into its
/// environment. Throws Error{usage} when it cannot be started.
[[nodiscard]] int run_child(const std::vector<std::string>& command, const Environment& added);

}  // namespace refrain
