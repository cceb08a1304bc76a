// The bytes of a file, unpacked when it is gzip (one member or several). It
// knows no lines. Everything that could be unpacked is handed out before a fault
// is told, so that a reader gets as far as the file is sound.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "traces/read_progress.hpp"

namespace refrain {

class ByteSource {
 public:
  /// Throws Error{input} for a file that is missing, unreadable or a directory. Of what is no regular file the size is
  /// not known, and no progress is told.
  explicit ByteSource(const std::string& path, ReadProgress progress = {});
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Fills the front of `out` and says how much; 0 is the end. Throws Error{input} when the disk fails.
  [[nodiscard]] std::size_t read(std::span<char> out);

  [[nodiscard]] bool gzip() const noexcept { return unpacker_ != nullptr; }
  /// The gzip stream ends before its own end. Known once read() has given 0.
  [[nodiscard]] bool cut() const noexcept { return cut_; }
  /// The gzip stream contradicts itself: the text just before this place may be wrong too.
  [[nodiscard]] bool corrupt() const noexcept { return corrupt_; }

 private:
  struct Unpacker;

  void refill();
  [[nodiscard]] std::size_t unpack(std::span<char> out);
  [[nodiscard]] bool next_member();

  std::string path_;
  std::ifstream file_;
  std::vector<char> packed_;
  std::size_t at_ = 0, filled_ = 0;  // packed_[at_, filled_) is not used yet
  std::unique_ptr<Unpacker> unpacker_;
  ReadProgress progress_;
  std::uint64_t size_ = 0, taken_ = 0;  // of the file; kept for the progress alone
  bool cut_ = false, corrupt_ = false;
};

/// Whether a file that begins so is gzip.
[[nodiscard]] bool is_gzip(std::string_view head) noexcept;

}  // namespace refrain
