// The style sheet of the HTML report. Every colour is one of the variables at
// its top, each pair of text and ground with a contrast of 4.5 or more in light
// and dark; what a colour says, a word or a line's form says too.
#pragma once

#include <string_view>

namespace refrain {

[[nodiscard]] std::string_view html_style() noexcept;

}  // namespace refrain
