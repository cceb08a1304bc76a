// The rows that a range's payload tells of: `rows` (or `real_rows`) in use, and
// `bucket` (or `bucket_rows`, `padded_rows`) that they were padded to. The payload is
// a JSON object with such fields, or one whole number in a range whose whole name is
// such a word. Nothing is guessed: a number under another name, a fraction, one less
// than 0 or of over nine digits, and two that contradict each other tell nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "traces/timeline.hpp"

namespace refrain {

class RowPayload {
 public:
  /// Whether a field of that name is about rows; blanks count as `_`.
  [[nodiscard]] static bool knows(std::string_view field) noexcept;

  /// A field that says nothing about rows is passed over.
  void take(std::string_view field, std::uint64_t value) noexcept;
  /// The value as text: decimal digits, else it tells nothing.
  void take(std::string_view field, std::string_view value) noexcept;
  /// Fields of a JSON object, or of objects inside it, as tools nest a payload in what they say of it. Text that is no
  /// JSON tells nothing.
  void take_json(std::string_view json);

  [[nodiscard]] RowCounts rows() const noexcept;

 private:
  struct Told {
    std::optional<std::uint32_t> value;
    bool ambiguous = false;
  };
  static void note(Told& told, std::optional<std::uint32_t> value) noexcept;

  Told bucket_, real_;
};

}  // namespace refrain
