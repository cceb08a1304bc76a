// What `refrain run` prints: `refrain.run/1` and the text form.
#pragma once

#include <string>

#include "runtime/run.hpp"

namespace refrain {

[[nodiscard]] std::string run_json(const RunResult& result);
[[nodiscard]] std::string run_text(const RunResult& result);

}  // namespace refrain
