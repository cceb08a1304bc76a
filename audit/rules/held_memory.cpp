#include "audit/rules/held_memory.hpp"

namespace refrain {
namespace {

bool is_node(const ApiEvent& call) noexcept {
  return call.target == Target::capturing || call.target == Target::forked || call.target == Target::unjoined;
}

bool frees(const ApiEvent& call) noexcept {
  if (call.code != 0) return false;
  if (call.api == Api::free_async) return !is_node(call);
  return call.api == Api::free || call.api == Api::free_host;
}

}  // namespace

bool allocates(const ApiEvent& call) noexcept {
  if (call.code != 0 || call.address == 0) return false;
  switch (call.api) {
    case Api::malloc:
    case Api::malloc_host:
    case Api::malloc_managed: return true;
    case Api::malloc_async: return !is_node(call);
    default: return false;
  }
}

void HeldMemory::follow(const ApiEvent& call) {
  if (!allocates(call) && !frees(call)) return;
  // An address that is handed out again was freed, seen or not.
  if (const auto old = live_.find(call.address); old != live_.end()) {
    bytes_ -= old->second->bytes;
    live_.erase(old);
  }
  if (!allocates(call)) return;
  live_.emplace(call.address, &call);
  bytes_ += call.bytes;
}

bool HeldMemory::holds(const ApiEvent& call) const {
  const auto known = live_.find(call.address);
  return known != live_.end() && known->second == &call;
}

}  // namespace refrain
