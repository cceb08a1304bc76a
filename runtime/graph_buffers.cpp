#include "runtime/graph_buffers.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace refrain {

GraphBuffers::GraphBuffers(Driver& driver, const BufferRegistry& registry, Graph& graph)
    : driver_(driver), registry_(registry), graph_(graph) {
  for (BufferId id = 0; id < graph_.buffers.size(); ++id) outside_.emplace(graph_.buffers[id].base, id);
}

std::optional<GraphBuffers::Place> GraphBuffers::resolve(Address address) {
  if (const auto id = registry_.find(address)) {
    const auto [entry, fresh] = local_.try_emplace(*id, static_cast<BufferId>(graph_.buffers.size()));
    if (fresh) graph_.buffers.push_back(registry_[*id]);
    return Place{entry->second, address - registry_[*id].base};
  }
  if (const auto known = named_outside(address)) return known;
  Buffer buffer;
  if (driver_.identify(address, buffer) != Status::success) return std::nullopt;
  return add_outside(std::move(buffer), address);
}

GraphBuffers::Place GraphBuffers::resolve_or_doubt(Address address, std::uint64_t bytes) {
  if (const auto known = resolve(address)) return *known;
  Buffer buffer;
  buffer.name = fmt::format("unknown memory at 0x{:x}", address);
  buffer.base = address;
  buffer.bytes = bytes;
  buffer.space = MemorySpace::unknown;
  return add_outside(std::move(buffer), address);
}

std::optional<GraphBuffers::Place> GraphBuffers::named(Address address) const {
  const auto id = registry_.find(address);
  if (!id) return named_outside(address);
  const auto entry = local_.find(*id);
  if (entry == local_.end()) return std::nullopt;
  return Place{entry->second, address - registry_[*id].base};
}

std::optional<GraphBuffers::Place> GraphBuffers::named_outside(Address address) const {
  const auto next = outside_.upper_bound(address);
  if (next == outside_.begin()) return std::nullopt;
  const auto& [base, id] = *std::prev(next);
  if (address - base >= graph_.buffers[id].bytes) return std::nullopt;
  return Place{id, address - base};
}

GraphBuffers::Place GraphBuffers::add_outside(Buffer buffer, Address address) {
  const auto id = static_cast<BufferId>(graph_.buffers.size());
  const Place place{id, address - buffer.base};
  outside_.insert_or_assign(buffer.base, id);
  graph_.buffers.push_back(std::move(buffer));
  return place;
}

}  // namespace refrain
