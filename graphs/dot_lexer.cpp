#include "graphs/dot_lexer.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "graphs/dot_syntax.hpp"
#include "graphs/text.hpp"

namespace refrain {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

std::size_t count_lines(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

DotLexer::DotLexer(std::string_view text, const std::string& file) : text_(skip_byte_order_mark(text)), file_(file) {
  scan();
}

DotToken DotLexer::take() {
  const DotToken token = next_;
  if (token.kind != DotToken::Kind::end) scan();
  return token;
}

// Blanks, `// ...`, `# ...` and `/* ... */`; an unclosed comment runs to the end of the text.
void DotLexer::skip_blanks() {
  while (at_ < text_.size()) {
    const std::string_view rest = text_.substr(at_);
    std::size_t length = 0;
    if (std::string_view(" \t\r\n").find(rest.front()) != std::string_view::npos) {
      length = 1;
    } else if (rest.starts_with("//") || rest.front() == '#') {
      length = std::min(rest.find('\n'), rest.size());
    } else if (rest.starts_with("/*")) {
      const std::size_t close = rest.find("*/", 2);
      length = close == std::string_view::npos ? rest.size() : close + 2;
    } else {
      return;
    }
    line_ += count_lines(rest.substr(0, length));
    at_ += length;
  }
}

// A label spans lines; of its escapes only `\"` matters here.
void DotLexer::scan_quoted() {
  std::size_t close = at_ + 1;
  while (close < text_.size() && text_[close] != '"') close += text_[close] == '\\' ? 2 : 1;
  if (close >= text_.size())
    fail_dot(file_, line_, "a closing quote", "the end of the file", "the dump is cut short, write it again");
  next_ = {DotToken::Kind::quoted, text_.substr(at_ + 1, close - at_ - 1), line_};
  line_ += count_lines(next_.text);
  at_ = close + 1;
}

void DotLexer::scan() {
  skip_blanks();
  if (at_ >= text_.size()) {
    next_ = {DotToken::Kind::end, {}, line_};
    return;
  }
  const char c = text_[at_];
  if (c == '"') return scan_quoted();
  std::size_t length = 1;
  DotToken::Kind kind = DotToken::Kind::punctuation;
  if (text_.substr(at_).starts_with("->")) {
    kind = DotToken::Kind::arrow;
    length = 2;
  } else if (is_name_char(c) || (c == '-' && at_ + 1 < text_.size() && is_name_char(text_[at_ + 1]))) {
    kind = DotToken::Kind::name;
    while (at_ + length < text_.size() && is_name_char(text_[at_ + length])) ++length;
  } else if (std::string_view("{}[]=;,").find(c) == std::string_view::npos) {
    fail_dot(file_, line_, "DOT text", fmt::format("the byte 0x{:02x}", static_cast<unsigned char>(c)),
             "give a dump of cudaGraphDebugDotPrint");
  }
  next_ = {kind, text_.substr(at_, length), line_};
  at_ += length;
}

}  // namespace refrain
