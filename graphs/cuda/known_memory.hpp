// Which allocation an address of a captured graph leads into, and what kind of
// memory it is. Every allocation met becomes one buffer of the graph. Memory
// that the graph itself allocates has no attributes before a launch
// (facts: graph MEM_ALLOC pointers), so its nodes are told to it first.
#pragma once

#include <map>

#include "graphs/cuda/driver_calls.hpp"
#include "graphs/graph.hpp"

namespace refrain {

/// The allocation that holds `address` now; false for an address that CUDA does not know.
[[nodiscard]] bool identify_address(const DriverCalls& calls, Address address, Buffer& out);

class KnownMemory {
 public:
  explicit KnownMemory(const DriverCalls& calls) : calls_(calls) {}

  /// The memory of an alloc node; `node` names it in messages.
  void add_graph_allocation(const AllocationInfo& allocation, NodeId node);

  /// Makes the allocation that holds `address` a buffer of `graph`, once; nothing for an address that CUDA does not
  /// know.
  void note(Graph& graph, Address address);
  /// Each 8-byte word of `bytes`, the bytes of a parameter at `offset`, that stands at a multiple of 8.
  void note_words(Graph& graph, const std::vector<std::uint8_t>& bytes, std::uint64_t offset);

  /// `stated` is what a copy node says of this side. Memory that CUDA does not know, and that no node calls the
  /// device's, is pageable.
  [[nodiscard]] MemorySpace space_of(Address address, CUmemorytype stated) const;

 private:
  [[nodiscard]] const Buffer* find(Address address) const;

  const DriverCalls& calls_;
  std::map<Address, Buffer> seen_;  // by base; nothing is freed while a graph is read, so they do not overlap
};

}  // namespace refrain
