#include "audit/cupti/call_kinds.hpp"

namespace refrain {
namespace {

bool is_host(MemorySpace space) noexcept {
  return space == MemorySpace::pinned || space == MemorySpace::pageable;
}

}  // namespace

bool has_stream(Api api) noexcept {
  switch (api) {
    case Api::device_synchronize:
    case Api::event_query:
    case Api::event_synchronize:
    case Api::event_elapsed_time:
    case Api::event_create:
    case Api::event_destroy:
    case Api::exchange_capture_mode:
    case Api::graph_instantiate:
    case Api::graph_destroy:
    case Api::graph_exec_destroy:
    case Api::graph_exec_update:
    case Api::stream_create:
    case Api::mem_address_reserve:
    case Api::mem_address_free:
    case Api::mem_map:
    case Api::mem_unmap:
    case Api::module_load:
    case Api::module_unload:
    case Api::add_child_graph_node: return false;
    case Api::malloc_async:
    case Api::free_async: return true;
    default: return !is_memory_call(api);
  }
}

bool gives_memory(Api api) noexcept {
  switch (api) {
    case Api::malloc:
    case Api::malloc_host:
    case Api::malloc_managed:
    case Api::malloc_async: return true;
    default: return false;
  }
}

bool takes_memory(Api api) noexcept {
  return api == Api::free || api == Api::free_host || api == Api::free_async;
}

bool is_copy(const ApiName& name) noexcept {
  switch (name.api) {
    case Api::memcpy_h2d:
    case Api::memcpy_d2h:
    case Api::memcpy_d2d: return true;
    default: return is_async_copy(name.api) && name.api != Api::memset_async;
  }
}

Api copy_between(const ApiName& name, MemorySpace source, MemorySpace destination) noexcept {
  const bool from_host = is_host(source), to_host = is_host(destination);
  if (name.form == ApiForm::plain || from_host == to_host) return name.api;
  if (name.form == ApiForm::copy_waits) return from_host ? Api::memcpy_h2d : Api::memcpy_d2h;
  if (from_host) return source == MemorySpace::pageable ? Api::memcpy_async_h2d_pageable : Api::memcpy_async_h2d_pinned;
  return destination == MemorySpace::pageable ? Api::memcpy_async_d2h_pageable : Api::memcpy_async_d2h_pinned;
}

}  // namespace refrain
