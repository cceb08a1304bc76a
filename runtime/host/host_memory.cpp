#include "runtime/host/host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "runtime/host/memory_file.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;
constexpr std::uint64_t kWindow = std::uint64_t{16} << 20;  // 64 mappings a GiB, of 65,530 that a process may have

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
  const std::vector<std::byte> filled(kWindow, std::byte{0xFF});
  const MemoryFile file(filled.data(), filled.size());
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
