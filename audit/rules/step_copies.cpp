#include "audit/rules/step_copies.hpp"

#include <algorithm>

#include "audit/captures.hpp"

namespace refrain {
namespace {

/// The sync after calls[at] that waits for it, if no other work was handed out in between.
const ApiEvent* sync_of(const StepCalls& step, std::size_t at) {
  const ApiEvent& copy = *step.calls[at];
  std::vector<std::uint64_t> events;  // recorded behind the copy
  for (std::size_t i = at + 1; i < step.calls.size(); ++i) {
    const ApiEvent& call = *step.calls[i];
    if (submits_work(call.api)) return nullptr;
    if (call.api == Api::event_record && call.stream == copy.stream) events.push_back(call.object);
    if (call.code != 0) continue;
    if (call.api == Api::device_synchronize) return &call;
    if (call.api == Api::stream_synchronize) return call.stream == copy.stream ? &call : nullptr;
    if (call.api == Api::event_synchronize)
      return std::find(events.begin(), events.end(), call.object) != events.end() ? &call : nullptr;
  }
  return nullptr;
}

}  // namespace

bool makes_host_wait(const ApiEvent& call) noexcept {
  if (call.code != 0) return false;
  switch (call.api) {
    case Api::memset:
    case Api::memset_async: return false;
    case Api::memcpy_async_h2d_pageable:
    case Api::memcpy_async_d2h_pageable: return true;
    default: break;
  }
  if (is_blocking_copy(call.api)) return true;
  return is_async_copy(call.api) && (call.space == MemorySpace::pageable || call.source_space == MemorySpace::pageable);
}

std::vector<StepCopy> waiting_copies(const StepCalls& step) {
  std::vector<StepCopy> copies;
  for (std::size_t i = 0; i < step.calls.size(); ++i)
    if (makes_host_wait(*step.calls[i])) copies.push_back({step.calls[i], sync_of(step, i)});
  return copies;
}

}  // namespace refrain
