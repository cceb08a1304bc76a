// Names come from other people's programs and may hold any byte: quotes, tags,
// newlines, terminal escapes, bytes that are no UTF-8. `visible` makes one line
// of valid UTF-8 of them; the others then quote it for their format. Every text
// of a report that is not the writer's own goes through here.
#pragma once

#include <string>
#include <string_view>

namespace refrain {

/// Valid UTF-8 in one line: control characters as `\n`, `\x1b`; U+FFFD for each byte that is none; direction marks,
/// which can make a line read otherwise than it is, as `\u202e`.
[[nodiscard]] std::string visible(std::string_view text);

/// `visible`, for text and quoted attributes of XML 1.0 and of HTML.
[[nodiscard]] std::string xml(std::string_view text);

/// `visible`, with every character that Markdown or HTML would read as markup taken literally; fits a table's cell.
[[nodiscard]] std::string markdown(std::string_view text);

/// Of a GitHub workflow command: the message, and a property such as `title`, where `:` and `,` divide.
[[nodiscard]] std::string github_message(std::string_view text);
[[nodiscard]] std::string github_property(std::string_view text);

/// A file's path as a URI reference: relative stays relative, absolute becomes `file:///`.
[[nodiscard]] std::string uri(std::string_view path);

}  // namespace refrain
