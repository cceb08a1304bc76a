#include "audit/cupti/live_memory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace refrain {
namespace {

bool all_kernels_told(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return (node.kind != NodeKind::kernel || node.has_contract) &&
           std::all_of(node.bodies.begin(), node.bodies.end(), all_kernels_told);
  });
}

}  // namespace

void LiveMemory::born(Address address, std::uint64_t sequence) {
  if (address == 0) return;
  std::optional<Buffer> buffer = driver_.identify(address);
  if (!buffer || buffer->base != address) return;
  buffer->born = sequence;
  alive_[address] = std::move(*buffer);
}

std::optional<Buffer> LiveMemory::find(Address address) const {
  if (address == 0) return std::nullopt;
  if (const auto known = alive_.find(address); known != alive_.end()) return known->second;
  return driver_.identify(address);
}

void LiveMemory::died(Buffer buffer, std::uint64_t sequence) {
  const auto known = alive_.find(buffer.base);
  if (known != alive_.end() && known->second.allocation == buffer.allocation) alive_.erase(known);
  buffer.died = sequence;
  dead_(buffer);
  // Dead once is enough: a later look at it would say so again.
  for (auto& [graph, watched] : watched_)
    std::erase_if(watched.allocations, [&](const Buffer& b) { return b.allocation == buffer.allocation; });
}

void LiveMemory::watch(std::uint64_t graph, const Graph& description, std::uint64_t thread) {
  collect(description, thread, watched_[graph]);
}

void LiveMemory::collect(const Graph& graph, std::uint64_t thread, Watched& out) {
  for (const Buffer& buffer : graph.buffers) {
    if (is_driver_allocation(buffer.allocation)) out.allocations.push_back(buffer);
    out.mapped = out.mapped || maps_itself(buffer.base);
  }
  for (const Node& node : graph.nodes) {
    if (node.copy && node.copy->src_space == MemorySpace::pageable)
      add_host(node.copy->src, node.copy->bytes, thread, out);
    if (node.copy && node.copy->dst_space == MemorySpace::pageable)
      add_host(node.copy->dst, node.copy->bytes, thread, out);
    for (const Graph& body : node.bodies) collect(body, thread, out);
  }
}

void LiveMemory::described(std::uint64_t graph, const Graph& description) {
  if (all_kernels_told(description)) watched_[graph].mapped = false;
}

bool LiveMemory::uses_mapped() const {
  return std::any_of(watched_.begin(), watched_.end(), [](const auto& entry) { return entry.second.mapped; });
}

void LiveMemory::add_host(Address address, std::uint64_t bytes, std::uint64_t thread, Watched& out) {
  if (address == 0 || bytes == 0) return;
  const bool on_stack = driver_.on_own_stack(address);
  Buffer buffer;
  buffer.name = on_stack ? "a local variable" : "pageable host memory";
  buffer.base = address;
  buffer.bytes = bytes;
  buffer.space = MemorySpace::pageable;
  out.host.push_back({std::move(buffer), on_stack ? thread : 0});
}

bool LiveMemory::maps_itself(Address address) const {
  const auto next = reserved_.upper_bound(address);
  return next != reserved_.begin() && address - std::prev(next)->first < std::prev(next)->second;
}

bool LiveMemory::is_gone(const Buffer& buffer) {
  const std::optional<Buffer> now = driver_.identify(buffer.base);
  return !now || (now->allocation != buffer.allocation && !maps_itself(buffer.base));
}

bool LiveMemory::is_gone(const HostPiece& piece, std::uint64_t thread) {
  if (!driver_.is_mapped(piece.buffer.base, piece.buffer.bytes)) return true;
  return piece.thread == thread && piece.buffer.base < driver_.caller_stack();
}

void LiveMemory::check(std::uint64_t graph, std::uint64_t thread) {
  const auto found = watched_.find(graph);
  if (found == watched_.end()) return;
  std::vector<Buffer> gone;
  for (const Buffer& buffer : found->second.allocations)
    if (is_gone(buffer)) gone.push_back(buffer);
  for (Buffer& buffer : gone) {
    const Address base = buffer.base;
    if (const auto known = alive_.find(base); known != alive_.end() && known->second.allocation == buffer.allocation)
      buffer.born = known->second.born;
    died(std::move(buffer), tick_());
    if (!alive_.contains(base)) born(base, tick_());
  }
  std::erase_if(found->second.host, [&](HostPiece& piece) {
    if (!is_gone(piece, thread)) return false;
    piece.buffer.died = tick_();
    dead_(piece.buffer);
    return true;
  });
}

void LiveMemory::finish() {
  for (const auto& [base, buffer] : alive_) dead_(buffer);
  alive_.clear();
}

}  // namespace refrain
