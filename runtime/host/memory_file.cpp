#include "runtime/host/memory_file.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <new>

namespace refrain {
namespace {

constexpr std::uint64_t kChunk = std::uint64_t{1} << 30;  // Linux writes at most 2 GiB a call

bool write_all(int descriptor, const std::byte* from, std::uint64_t bytes) {
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, from, std::min(bytes, kChunk));
    if (written <= 0) return false;
    from += written;
    bytes -= static_cast<std::uint64_t>(written);
  }
  return true;
}

}  // namespace

MemoryFile::MemoryFile(const void* from, std::uint64_t bytes) : descriptor_(::memfd_create("refrain", MFD_CLOEXEC)) {
  if (descriptor_ >= 0 && write_all(descriptor_, static_cast<const std::byte*>(from), bytes)) return;
  close();
  throw std::bad_alloc();
}

MemoryFile::~MemoryFile() {
  close();
}

void MemoryFile::close() const noexcept {
  if (descriptor_ >= 0) (void)::close(descriptor_);
}

void MemoryFile::show(void* pages, std::uint64_t bytes) const {
  if (::mmap(pages, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor_, 0) == MAP_FAILED)
    throw std::bad_alloc();
}

}  // namespace refrain
