// Words of a DOT text: names, quoted strings, punctuation. Comments are skipped.
// It reads each byte once; a token's view points into the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace refrain {

struct DotToken {
  enum class Kind : std::uint8_t { name, quoted, punctuation, arrow, end };
  Kind kind = Kind::end;
  std::string_view text;  ///< without the quotes
  std::size_t line = 1;

  [[nodiscard]] bool is(char c) const noexcept { return kind == Kind::punctuation && text.front() == c; }
  [[nodiscard]] bool is_id() const noexcept { return kind == Kind::name || kind == Kind::quoted; }
  [[nodiscard]] bool is_word(std::string_view word) const noexcept { return kind == Kind::name && text == word; }
};

class DotLexer {
 public:
  /// Both must outlive the lexer.
  DotLexer(std::string_view text, const std::string& file);
  [[nodiscard]] const DotToken& peek() const noexcept { return next_; }
  DotToken take();

 private:
  void skip_blanks();
  void scan();
  void scan_quoted();

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  DotToken next_;
};

}  // namespace refrain
