#include "runtime/host/host_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

namespace refrain {
namespace {

constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;
constexpr std::uint64_t kWindow = std::uint64_t{16} << 20;  // 64 mappings a GiB, of 65,530 that a process may have

/// A file of kWindow bytes 0xFF that only this process sees.
class FilledFile {
 public:
  FilledFile() : descriptor_(::memfd_create("refrain", MFD_CLOEXEC)) {
    const std::vector<std::byte> filled(kWindow, std::byte{0xFF});
    const ssize_t written = descriptor_ < 0 ? -1 : ::write(descriptor_, filled.data(), filled.size());
    if (written == static_cast<ssize_t>(filled.size())) return;
    close();
    throw std::bad_alloc();
  }
  ~FilledFile() { close(); }
  FilledFile(const FilledFile&) = delete;
  FilledFile& operator=(const FilledFile&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  void close() const noexcept {
    if (descriptor_ >= 0) (void)::close(descriptor_);
  }
  int descriptor_;
};

std::shared_ptr<std::byte[]> take_large(std::uint64_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  std::shared_ptr<std::byte[]> memory(static_cast<std::byte*>(base),
                                      [bytes](std::byte* block) { ::munmap(block, bytes); });
  fill_fresh(base, bytes);
  return memory;
}

}  // namespace

void fill_fresh(void* pages, std::uint64_t bytes) {
  if (bytes < kLarge) {
    std::memset(pages, 0xFF, bytes);
    return;
  }
  // The same 16 MiB over and over, copied where they are written.
  const FilledFile file;
  for (std::uint64_t at = 0; at < bytes; at += kWindow)
    if (::mmap(static_cast<std::byte*>(pages) + at, std::min(kWindow, bytes - at), PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file.descriptor(), 0) == MAP_FAILED)
      throw std::bad_alloc();
}

std::shared_ptr<std::byte[]> take_host_memory(std::uint64_t bytes) {
  if (bytes >= kLarge) return take_large(bytes);
  auto memory = std::make_shared_for_overwrite<std::byte[]>(bytes);
  std::memset(memory.get(), 0xFF, bytes);
  return memory;
}

}  // namespace refrain
