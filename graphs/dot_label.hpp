// A node's label taken apart. Record labels, `{KERNEL | {ID | 0 | name} | ...}`,
// become rows of leaves, one row a field of the outermost record; plain labels,
// `0\nHOST\n`, become rows of one leaf, one row a line. It knows no node kinds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace refrain {

class DotLabel {
 public:
  /// The view must outlive the label. False when the braces of a record do not balance.
  [[nodiscard]] bool parse(std::string_view text);

  [[nodiscard]] bool is_record() const noexcept { return record_; }
  [[nodiscard]] std::size_t row_count() const noexcept { return row_end_.size(); }
  [[nodiscard]] std::span<const std::string_view> row(std::size_t index) const noexcept;
  /// The row whose first leaf is `key`; empty when there is none.
  [[nodiscard]] std::span<const std::string_view> row_of(std::string_view key) const noexcept;

  /// From a row of n names followed by their n values, `{{ID | dptr} | {0 | 0x7F00}}`.
  [[nodiscard]] std::optional<std::string_view> value(std::string_view key) const noexcept;
  /// The leaf right after this one, `{Width | 2048}`.
  [[nodiscard]] std::optional<std::string_view> after(std::string_view key) const noexcept;

 private:
  bool parse_record(std::string_view text);
  void parse_lines(std::string_view text);

  bool record_ = false;
  std::vector<std::string_view> leaves_;
  std::vector<std::size_t> row_end_;  // row i is leaves [row_end[i - 1], row_end[i])
};

/// `\<\<\<\{2,3\},64,0\>\>\>` without its escapes; `\n`, `\l` and `\r` become line ends.
[[nodiscard]] std::string unescape_label(std::string_view text);

}  // namespace refrain
