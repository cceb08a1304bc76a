// JSON text into a document, for files that decide what a model computes with:
// a key that is written twice is refused (readers differ on which one counts),
// and so is nesting past 64. What the document must hold is its reader's matter.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/scales/input_file.hpp"

namespace refrain {

/// Documents longer than this are refused; it is also the limit of a safetensors header.
inline constexpr std::uint64_t kLongestJson = 100'000'000;

/// Throws Error{input}: `file: <part>byte N: ...`; `part` is empty or e.g. `header `.
[[nodiscard]] nlohmann::json parse_json(std::string_view text, const std::string& file, const std::string& part = "");
[[nodiscard]] nlohmann::json read_json(const InputFile& file);

}  // namespace refrain
