// One line of a recording, taken apart: an object of named strings, numbers,
// booleans and ranges, nothing nested but a graph, whose text is handed out unread. It
// checks kinds and ranges and remembers which fields were asked for, so that a
// misspelt field is an error and not a default. It is made once and filled per
// line: a recording has millions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/contract.hpp"

namespace refrain {

class FlatRecord {
 public:
  /// Throws Error{input} when the line is no such object; views of the last line are then void.
  void parse(std::string_view line);

  [[nodiscard]] bool has(std::string_view key) const;
  /// Each marks the field as known. Throws Error{input} where the field has another kind or range.
  /// Of an absent field: nothing.
  [[nodiscard]] std::optional<std::string_view> text(std::string_view key);
  [[nodiscard]] std::optional<std::uint64_t> integer(std::string_view key, std::uint64_t most);
  [[nodiscard]] std::optional<std::int32_t> signed_integer(std::string_view key);
  [[nodiscard]] std::optional<std::uint64_t> address(std::string_view key);  ///< `"0x7f00"`
  [[nodiscard]] std::optional<bool> boolean(std::string_view key);
  /// A number, or `"inf"`, `"-inf"`, `"nan"`, which JSON has no numbers for.
  [[nodiscard]] std::optional<double> real(std::string_view key);
  [[nodiscard]] std::optional<ByteRange> range(std::string_view key);  ///< `[begin, end]`
  /// The text of the object that stands under `graph`.
  [[nodiscard]] std::optional<std::string_view> graph();

  template <class Integer>
  void read(std::string_view key, Integer& out) {
    if (const auto value = integer(key, std::numeric_limits<Integer>::max())) out = static_cast<Integer>(*value);
  }

  /// Throws Error{input} that names a field that nobody asked for.
  void check_all_known(std::string_view what) const;
  /// Throws Error{input}: `key: expected <expected>, found <its value>; <fix>`.
  [[noreturn]] void fail(std::string_view key, std::string_view expected, std::string_view fix) const;

 private:
  enum class Kind : std::uint8_t { null, boolean, natural, negative, real, text, list };
  struct Field {
    std::string key, text;
    std::uint64_t natural = 0;
    ByteRange list;  // its first two numbers
    std::size_t length = 0;
    std::int64_t negative = 0;
    double real = 0;
    Kind kind = Kind::null;
    bool flag = false, known = false;
  };
  class Handler;

  void parse_flat(std::string_view line);
  [[nodiscard]] const Field* find(std::string_view key) const;
  [[nodiscard]] Field* take(std::string_view key);
  [[nodiscard]] std::string found(const Field& field) const;

  std::vector<Field> fields_;  // the first `used_` are of this line
  std::size_t used_ = 0;
  mutable std::size_t next_ = 0;  // where the last look-up ended: fields come in the order in which they are read
  std::string_view graph_;
  std::string rest_;
};

}  // namespace refrain
