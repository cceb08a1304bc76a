// How the page says names: short enough for a cell, exact enough to act on.
#pragma once

#include <string>
#include <string_view>

#include "audit/review/amounts.hpp"
#include "audit/review/review.hpp"

namespace refrain {

/// Of a name from the trace, quoted for HTML: one line of at most 48 characters.
[[nodiscard]] std::string name_text(std::string_view name);
/// The same for a sentence, of at most 300 characters.
[[nodiscard]] std::string sentence_text(std::string_view sentence);
/// `step 3 (decode_step_3)`, quoted for HTML; `step` from 0 on.
[[nodiscard]] std::string step_text(const Review& review, std::size_t step);

}  // namespace refrain
