// Memory that can be shown at more than one address: a file without a name that only
// this process sees. It goes with its owner and the last pages that show it.
#pragma once

#include <cstdint>

namespace refrain {

class MemoryFile {
 public:
  /// Holds a copy of the `bytes` bytes at `from`. Throws std::bad_alloc.
  MemoryFile(const void* from, std::uint64_t bytes);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  /// In place of the pages at `pages`, which are the caller's: its first `bytes`, readable and writable. Throws
  /// std::bad_alloc; then they are as they were.
  void show(void* pages, std::uint64_t bytes) const;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  void close() const noexcept;
  int descriptor_;
};

}  // namespace refrain
