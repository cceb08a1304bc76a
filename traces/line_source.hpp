// The lines of a text file, plain or gzip, with the place of each in the
// unpacked text. Only one line is held at a time, and none longer than the limit.
// A last line without its line end is no line: its writer was stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/byte_source.hpp"

namespace refrain {

class LineSource {
 public:
  /// Throws Error{input} for a file that cannot be opened.
  explicit LineSource(const std::string& path, ReadProgress progress = {});

  enum class Next { line, too_long, end };
  /// `line` is without its line end, and valid until the next call. A line longer than `limit` is skipped.
  /// Throws Error{input} when the disk fails.
  [[nodiscard]] Next next(std::string_view& line, std::size_t limit);

  /// Byte, in the unpacked text, where the last line began; at the end: where the text stops.
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }
  /// At the end: how much of a line stood there without its line end.
  [[nodiscard]] std::uint64_t rest() const noexcept { return rest_; }

  [[nodiscard]] bool gzip() const noexcept { return bytes_.gzip(); }
  /// At the end: the text stops in the middle of a line, or of the gzip stream.
  [[nodiscard]] bool cut() const noexcept { return rest_ != 0 || bytes_.cut(); }
  [[nodiscard]] bool corrupt() const noexcept { return bytes_.corrupt(); }

 private:
  [[nodiscard]] bool refill();

  ByteSource bytes_;
  std::vector<char> chunk_;
  std::size_t at_ = 0, filled_ = 0;  // chunk_[at_, filled_) is not handed out yet
  std::string line_;                 // a line that lies across chunks
  std::uint64_t offset_ = 0, next_offset_ = 0, rest_ = 0;
};

}  // namespace refrain
