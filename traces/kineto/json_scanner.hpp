// The JSON of a file, plain or gzip, token by token: one chunk of it is held,
// whatever its size. It knows no events. It is lenient where profilers are sloppy
// (`nan`, odd escapes), never about brackets, and what a reader skips is checked
// for its brackets alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"

namespace refrain {

enum class Token : std::uint8_t { begin_object, end_object, begin_array, end_array, key, string, number, word, end };

class JsonScanner {
 public:
  /// Throws Error{input} for a file that cannot be opened.
  explicit JsonScanner(const std::string& path, ReadProgress progress = {});

  /// The next token; `end` after the one value that the text is. Throws Error{input} with its place where the text is
  /// none, ends too early, nests over 64 deep, or has one token of over 16 MiB.
  [[nodiscard]] Token next();
  /// Of a key, string, number or word, without quotes and escapes, at most 16 KiB of it. Valid until the next call.
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// What is left of the innermost open object or array, its end as well.
  void skip_rest();

 private:
  /// What may stand next.
  enum class Place : std::uint8_t { value, first_value, key, first_key, colon, comma_or_end, nothing };

  [[nodiscard]] bool refill();
  [[nodiscard]] char peek_past_blanks();  // 0 at the end of the text
  [[nodiscard]] Token value(char first);
  Token open(bool object);
  Token close(char bracket);
  [[nodiscard]] bool in_object() const noexcept { return (objects_ >> (depth_ - 1) & 1) != 0; }
  void read_string();
  void read_scalar();
  [[nodiscard]] bool scan_string(bool keep);
  void keep(const char* from, const char* to);
  void count(std::size_t bytes);
  [[noreturn]] void refuse(const char* found);
  [[noreturn]] void refuse_end();

  std::string path_;
  ByteSource bytes_;
  std::vector<char> chunk_;
  const char *at_ = nullptr, *end_ = nullptr;  // what is not used yet of the chunk
  std::uint64_t chunk_begin_ = 0;              // its place in the text
  std::string_view text_;
  std::string kept_;  // a token that has an escape or lies across chunks
  std::size_t token_bytes_ = 0;
  std::uint64_t objects_ = 0;  // a bit an open bracket: 1 = of an object
  unsigned depth_ = 0;
  Place place_ = Place::value;
};

}  // namespace refrain
