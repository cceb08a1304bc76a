// What the pages have in common: their head, a finding, what was not checked. A page
// works from a file, offline, without a script; the policy in its head forbids every
// other source, should a name ever get past the quoting.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "audit/report.hpp"

namespace refrain {

/// From the doctype to the skip link, which leads to `#findings`. `style`: after the style sheet of all pages.
[[nodiscard]] std::string html_head(std::string_view title, std::string_view style = {});

/// An <article> `finding-N`. `places`: HTML that stands before its last line, links to where it is drawn.
[[nodiscard]] std::string html_finding(const Finding& finding, std::size_t number, std::string_view places);

/// The <section> `not-checked`.
[[nodiscard]] std::string html_not_checked(const Report& report);

/// The first `longest` characters of what `visible` made: what a place on the page has room for.
[[nodiscard]] std::string shortened(std::string text, std::size_t longest);

}  // namespace refrain
