// A regular file that is read by place, whole or in streaming. It is opened once,
// so that what was hashed and what was read are the same file even when its name
// is given to another one meanwhile. Checkpoint files are tens of gigabytes:
// nothing here holds one in memory unless a limit allows it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace refrain {

/// Called now and then while a file is hashed: its path, bytes done, bytes in all.
using HashProgress = std::function<void(const std::string& path, std::uint64_t done, std::uint64_t total)>;

/// Everything throws Error{input}, with the path and the system's reason.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  /// Fills `out` from byte `offset` on; a file that ends before is an error.
  void read_at(std::uint64_t offset, std::span<char> out) const;
  /// The whole file, which must not be longer than `limit` bytes.
  [[nodiscard]] std::string read_all(std::uint64_t limit) const;
  [[nodiscard]] std::string sha256(const HashProgress& progress = {}) const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace refrain
