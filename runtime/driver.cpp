#include "runtime/driver.hpp"

namespace refrain {
namespace {

Api allocation_api(MemorySpace space) {
  switch (space) {
    case MemorySpace::pinned: return Api::malloc_host;
    case MemorySpace::managed: return Api::malloc_managed;
    default: return Api::malloc;
  }
}

bool on_host(MemorySpace space) {
  return space == MemorySpace::pinned || space == MemorySpace::pageable;
}

Api async_copy_api(MemorySpace to, MemorySpace from) {
  if (on_host(from)) {
    return from == MemorySpace::pinned ? Api::memcpy_async_h2d_pinned : Api::memcpy_async_h2d_pageable;
  }
  if (on_host(to)) return to == MemorySpace::pinned ? Api::memcpy_async_d2h_pinned : Api::memcpy_async_d2h_pageable;
  return Api::memcpy_async_d2d;
}

Api blocking_copy_api(MemorySpace to, MemorySpace from) {
  if (on_host(from)) return Api::memcpy_h2d;
  return on_host(to) ? Api::memcpy_d2h : Api::memcpy_d2d;
}

}  // namespace

Status Driver::api(Api api, Stream stream, Target target) {
  Call call{.api = api, .target = target, .stream = stream};
  return submit(call);
}

Status Driver::free_memory(std::uint64_t& bytes) {
  Call call{.api = Api::mem_get_info};
  const Status status = submit(call);
  bytes = call.bytes;
  return status;
}

Status Driver::allocate(std::uint64_t bytes, MemorySpace space, Address& out) {
  Call call{.api = allocation_api(space), .bytes = bytes, .space = space};
  const Status status = submit(call);
  out = call.address;
  return status;
}

Status Driver::release(Address address, MemorySpace space) {
  Call call{.api = space == MemorySpace::pinned ? Api::free_host : Api::free, .address = address, .space = space};
  return submit(call);
}

Status Driver::reserve(std::uint64_t bytes, Address& out) {
  Call call{.api = Api::mem_address_reserve, .bytes = bytes};
  const Status status = submit(call);
  out = call.address;
  return status;
}

Status Driver::unreserve(Address address, std::uint64_t bytes) {
  Call call{.api = Api::mem_address_free, .address = address, .bytes = bytes};
  return submit(call);
}

Status Driver::map(Address address, std::uint64_t bytes) {
  Call call{.api = Api::mem_map, .address = address, .bytes = bytes};
  return submit(call);
}

Status Driver::alias(Address address, std::uint64_t bytes, Address of) {
  Call call{.api = Api::mem_map, .address = address, .source = of, .bytes = bytes};
  return submit(call);
}

Status Driver::unmap(Address address, std::uint64_t bytes) {
  Call call{.api = Api::mem_unmap, .address = address, .bytes = bytes};
  return submit(call);
}

Status Driver::create_stream(Stream& out, bool blocking) {
  Call call{.api = Api::stream_create, .blocking = blocking};
  const Status status = submit(call);
  out = call.stream;
  return status;
}

Status Driver::destroy_stream(Stream stream) {
  return api(Api::stream_destroy, stream);
}
Status Driver::synchronize(Stream stream) {
  return api(Api::stream_synchronize, stream);
}
Status Driver::query(Stream stream) {
  return api(Api::stream_query, stream);
}
Status Driver::synchronize_device() {
  return api(Api::device_synchronize);
}

Status Driver::create_event(Event& out) {
  Call call{.api = Api::event_create};
  const Status status = submit(call);
  out = call.event;
  return status;
}

Status Driver::destroy_event(Event event) {
  Call call{.api = Api::event_destroy, .event = event};
  return submit(call);
}

Status Driver::record(Event event, Stream stream, bool external) {
  Call call{.api = external ? Api::event_record_external : Api::event_record, .stream = stream, .event = event};
  return submit(call);
}

Status Driver::wait(Stream stream, Event event, bool external) {
  Call call{
      .api = external ? Api::stream_wait_event_external : Api::stream_wait_event, .stream = stream, .event = event};
  return submit(call);
}

Status Driver::query(Event event) {
  Call call{.api = Api::event_query, .event = event};
  return submit(call);
}

Status Driver::synchronize(Event event) {
  Call call{.api = Api::event_synchronize, .event = event};
  return submit(call);
}

Status Driver::copy(Place to, Place from, std::uint64_t bytes, Stream stream) {
  Call call{.api = async_copy_api(to.space, from.space),
            .stream = stream,
            .address = to.address,
            .source = from.address,
            .bytes = bytes,
            .space = to.space,
            .source_space = from.space};
  return submit(call);
}

Status Driver::copy_now(Place to, Place from, std::uint64_t bytes) {
  Call call{.api = blocking_copy_api(to.space, from.space),
            .address = to.address,
            .source = from.address,
            .bytes = bytes,
            .space = to.space,
            .source_space = from.space};
  return submit(call);
}

Status Driver::fill(Address to, std::uint8_t value, std::uint64_t bytes, Stream stream) {
  Call call{.api = Api::memset_async, .stream = stream, .address = to, .bytes = bytes, .value = value};
  return submit(call);
}

Status Driver::launch(const OpLaunch& op, Stream stream) {
  Call call{.api = Api::launch_kernel, .stream = stream, .op = &op};
  return submit(call);
}

Status Driver::begin_capture(Stream stream, CaptureMode mode) {
  Call call{.api = Api::begin_capture, .stream = stream, .mode = mode};
  return submit(call);
}

Status Driver::end_capture(Stream stream, GraphHandle& out) {
  Call call{.api = Api::end_capture, .stream = stream};
  const Status status = submit(call);
  out = call.graph;
  return status;
}

Status Driver::exchange_capture_mode(CaptureMode& mode) {
  Call call{.api = Api::exchange_capture_mode, .mode = mode};
  const Status status = submit(call);
  mode = call.mode;
  return status;
}

Status Driver::capture_frontier(Stream stream, std::vector<std::uint64_t>& nodes) {
  Call call{.api = Api::stream_get_capture_info, .stream = stream, .nodes = &nodes};
  return submit(call);
}

Status Driver::instantiate(GraphHandle graph, ExecHandle& out) {
  Call call{.api = Api::graph_instantiate, .graph = graph};
  const Status status = submit(call);
  out = call.exec;
  return status;
}

Status Driver::upload(ExecHandle exec, Stream stream) {
  Call call{.api = Api::graph_upload, .stream = stream, .exec = exec};
  return submit(call);
}

Status Driver::launch(ExecHandle exec, Stream stream) {
  Call call{.api = Api::graph_launch, .stream = stream, .exec = exec};
  return submit(call);
}

Status Driver::update(ExecHandle exec, GraphHandle graph) {
  Call call{.api = Api::graph_exec_update, .graph = graph, .exec = exec};
  return submit(call);
}

Status Driver::destroy(GraphHandle graph) {
  Call call{.api = Api::graph_destroy, .graph = graph};
  return submit(call);
}

Status Driver::destroy(ExecHandle exec) {
  Call call{.api = Api::graph_exec_destroy, .exec = exec};
  return submit(call);
}

}  // namespace refrain
