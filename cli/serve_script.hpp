// A script of requests, one JSON object a line:
//   {"at_ms": 0, "prompt": [1, 2, 3], "max_tokens": 16}
//   {"at_ms": 12.5, "prompt_tokens": 300, "seed": 7, "temperature": 0.8, "cancel_after_tokens": 4}
// It says what is asked and when, and serves nothing. A line that is not understood stops
// the whole, before anything is served.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/request.hpp"

namespace refrain {

struct ScriptedRequest {
  std::size_t line = 0;  ///< of the script, from 1
  double at_ms = 0;      ///< after the beginning
  Request request;
  std::optional<std::size_t> cancel_after_tokens;  ///< of its answer
};

/// In the order of their times, and of their lines at equal times. Prompts of `prompt_tokens` are ids of the vocabulary
/// drawn by the request's seed. Throws Error{input} with the file and the line.
[[nodiscard]] std::vector<ScriptedRequest> read_script(const std::string& file, std::int32_t vocabulary);

}  // namespace refrain
