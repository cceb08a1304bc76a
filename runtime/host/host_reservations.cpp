#include "runtime/host/host_reservations.hpp"

#include <sys/mman.h>

#include <iterator>
#include <new>
#include <utility>

#include "runtime/host/host_memory.hpp"

namespace refrain {
namespace {

void* at(Address address) {
  return reinterpret_cast<void*>(address);
}

bool fits(std::uint64_t bytes) {
  return bytes != 0 && bytes % Driver::kMapGranularity == 0;
}

}  // namespace

HostReservations::~HostReservations() {
  for (const auto& [base, bytes] : reserved_) (void)::munmap(at(base), bytes);
}

Status HostReservations::reserve(Call& call) {
  if (!fits(call.bytes)) return Status::invalid_value;
  // One granule more, so that the base can be aligned as CUDA aligns it.
  const std::uint64_t more = call.bytes + Driver::kMapGranularity;
  void* raw = ::mmap(nullptr, more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return Status::memory_allocation;
  const auto first = reinterpret_cast<Address>(raw);
  const Address base = (first + Driver::kMapGranularity - 1) / Driver::kMapGranularity * Driver::kMapGranularity;
  if (base > first) (void)::munmap(raw, base - first);
  const Address end = base + call.bytes;
  if (first + more > end) (void)::munmap(at(end), first + more - end);
  reserved_[base] = call.bytes;
  call.address = base;
  return Status::success;
}

Status HostReservations::unreserve(const Call& call) {
  const auto found = reserved_.find(call.address);
  if (found == reserved_.end() || found->second != call.bytes) return Status::invalid_value;
  const auto inside = mapped_.lower_bound(call.address);
  if (inside != mapped_.end() && inside->first < call.address + call.bytes) return Status::invalid_value;
  (void)::munmap(at(call.address), call.bytes);
  reserved_.erase(found);
  return Status::success;
}

/// A range of one reservation with nothing mapped in it.
bool HostReservations::is_vacant(const Call& call) const {
  if (!fits(call.bytes) || call.address % Driver::kMapGranularity != 0) return false;
  const auto next = reserved_.upper_bound(call.address);
  if (next == reserved_.begin()) return false;
  const auto& [base, bytes] = *std::prev(next);
  if (call.address + call.bytes > base + bytes) return false;
  const auto after = mapped_.lower_bound(call.address);
  if (after != mapped_.end() && after->first < call.address + call.bytes) return false;
  if (after == mapped_.begin()) return true;
  const Mapping& before = std::prev(after)->second;
  return before.base + before.bytes <= call.address;
}

Status HostReservations::map(const Call& call, std::uint64_t id) {
  if (!is_vacant(call)) return Status::invalid_value;
  if (::mprotect(at(call.address), call.bytes, PROT_READ | PROT_WRITE) != 0) return Status::memory_allocation;
  try {
    fill_fresh(at(call.address), call.bytes);
  } catch (const std::bad_alloc&) {
    return Status::memory_allocation;
  }
  mapped_[call.address] = {call.address, call.bytes, id, nullptr};
  return Status::success;
}

Status HostReservations::alias(const Call& call, std::uint64_t id) {
  const auto source = mapped_.find(call.source);
  if (!is_vacant(call) || source == mapped_.end() || source->second.bytes != call.bytes) return Status::invalid_value;
  std::shared_ptr<MemoryFile> file = source->second.file;
  try {
    if (file == nullptr) {
      file = std::make_shared<MemoryFile>(at(call.source), call.bytes);
      file->show(at(call.source), call.bytes);
      source->second.file = file;
    }
    file->show(at(call.address), call.bytes);
  } catch (const std::bad_alloc&) {
    return Status::memory_allocation;
  }
  mapped_[call.address] = {call.address, call.bytes, id, std::move(file)};
  return Status::success;
}

Status HostReservations::unmap(const Call& call) {
  const auto found = mapped_.find(call.address);
  if (found == mapped_.end() || found->second.bytes != call.bytes) return Status::invalid_value;
  // Fresh pages without access over the old ones, whatever these were mapped from.
  if (::mmap(at(call.address), call.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
      MAP_FAILED)
    return Status::memory_allocation;
  mapped_.erase(found);
  return Status::success;
}

std::optional<HostReservations::Mapping> HostReservations::find(Address address) const {
  const auto next = mapped_.upper_bound(address);
  if (next == mapped_.begin()) return std::nullopt;
  const Mapping& mapping = std::prev(next)->second;
  return address - mapping.base < mapping.bytes ? std::optional(mapping) : std::nullopt;
}

}  // namespace refrain
