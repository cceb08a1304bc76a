#include "graphs/cuda/known_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace refrain {
namespace {

bool holds(const Buffer& buffer, Address address) {
  return address >= buffer.base && address - buffer.base < buffer.bytes;
}

bool same(const Buffer& a, const Buffer& b) {
  return a.base == b.base && a.allocation == b.allocation;
}

}  // namespace

bool identify_address(const DriverCalls& calls, Address address, Buffer& out) {
  unsigned int type = 0, managed = 0;
  unsigned long long id = 0;
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  std::array attributes = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                           CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                           CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  std::array<void*, attributes.size()> values = {&type, &managed, &id, &base, &bytes};
  const CUresult code = calls.pointer_get_attributes(static_cast<unsigned int>(attributes.size()), attributes.data(),
                                                     values.data(), address);
  // A pointer that CUDA does not know gives an error, or zeros and success.
  if (code != CUDA_SUCCESS || type == 0 || bytes == 0) return false;
  out.base = base;
  out.bytes = bytes;
  out.allocation = driver_allocation(id);
  out.name = fmt::format("allocation {}", id);
  out.space = type == CU_MEMORYTYPE_HOST ? MemorySpace::pinned : MemorySpace::device;
  if (managed != 0) out.space = MemorySpace::managed;
  return holds(out, address);
}

void KnownMemory::add_graph_allocation(const AllocationInfo& allocation, NodeId node) {
  Buffer buffer;
  buffer.name = fmt::format("allocation of node {}", node);
  buffer.base = allocation.address;
  buffer.bytes = allocation.bytes;
  seen_.insert_or_assign(buffer.base, std::move(buffer));
}

const Buffer* KnownMemory::find(Address address) const {
  auto next = seen_.upper_bound(address);
  if (next == seen_.begin()) return nullptr;
  const Buffer& before = std::prev(next)->second;
  return holds(before, address) ? &before : nullptr;
}

void KnownMemory::note(Graph& graph, Address address) {
  if (address == 0) return;
  const Buffer* buffer = find(address);
  Buffer fresh;
  if (buffer == nullptr) {
    if (!identify_address(calls_, address, fresh)) return;
    buffer = &seen_.insert_or_assign(fresh.base, fresh).first->second;
  }
  const auto known =
      std::any_of(graph.buffers.begin(), graph.buffers.end(), [&](const Buffer& b) { return same(b, *buffer); });
  if (!known) graph.buffers.push_back(*buffer);
}

void KnownMemory::note_words(Graph& graph, const std::vector<std::uint8_t>& bytes, std::uint64_t offset) {
  for (std::size_t at = (8 - offset % 8) % 8; at + 8 <= bytes.size(); at += 8) {
    Address word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    note(graph, word);
  }
}

MemorySpace KnownMemory::space_of(Address address, CUmemorytype stated) const {
  if (stated == CU_MEMORYTYPE_ARRAY) return MemorySpace::device;
  Buffer asked;
  const Buffer* known = find(address);
  if (known == nullptr && identify_address(calls_, address, asked)) known = &asked;
  if (known != nullptr) return known->space;
  return stated == CU_MEMORYTYPE_DEVICE ? MemorySpace::device : MemorySpace::pageable;
}

}  // namespace refrain
