// What the page of a review has beyond the style sheet of all pages: bars, lanes and marks.
// The same promise: contrast in light and dark, and no colour that says something alone.
#pragma once

#include <string_view>

namespace refrain {

[[nodiscard]] std::string_view html_review_style() noexcept;

}  // namespace refrain
