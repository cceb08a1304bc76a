#include "runtime/buffer_registry.hpp"

#include <cassert>
#include <utility>

namespace refrain {

BufferRegistry::Id BufferRegistry::add(Buffer buffer) {
  buffer.allocation = buffers_.size() + 1;
  buffer.born = clock_.tick();
  buffer.died.reset();
  [[maybe_unused]] const auto next = live_.lower_bound(buffer.base);
  assert(next == live_.end() || buffer.base + buffer.bytes <= next->first);
  const Id id = buffers_.size();
  live_.emplace(buffer.base, id);
  auditor_.buffer(buffer);
  buffers_.push_back(std::move(buffer));
  return id;
}

void BufferRegistry::retire(Id id) {
  buffers_[id].died = clock_.tick();
  live_.erase(buffers_[id].base);
  auditor_.buffer(buffers_[id]);
}

std::optional<BufferRegistry::Id> BufferRegistry::find(Address address) const {
  auto next = live_.upper_bound(address);
  if (next == live_.begin()) return std::nullopt;
  const Id id = std::prev(next)->second;
  const Buffer& buffer = buffers_[id];
  if (address >= buffer.base + buffer.bytes) return std::nullopt;
  return id;
}

}  // namespace refrain
