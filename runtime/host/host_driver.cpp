#include "runtime/host/host_driver.hpp"

#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "runtime/host/host_memory.hpp"

namespace refrain {
namespace {

void* at(Address address) {
  return reinterpret_cast<void*>(address);
}

/// The work of a copy, fill or launch as something to run now or at every replay; addresses are baked, as in CUDA.
std::function<void()> work_of(const Call& call) {
  switch (call.api) {
    case Api::memset_async:
    case Api::memset:
      if (call.bytes == 0) return {};
      return [to = call.address, value = call.value, bytes = call.bytes] { std::memset(at(to), value, bytes); };
    case Api::launch_kernel:
    case Api::launch_kernel_first_use:
      if (call.op == nullptr) return {};
      return call.op->host;
    default:
      if (call.bytes == 0 || call.source == 0) return {};
      return [to = call.address, from = call.source, bytes = call.bytes] { std::memmove(at(to), at(from), bytes); };
  }
}

NodeKind node_kind(Api api) {
  switch (api) {
    case Api::launch_kernel:
    case Api::launch_kernel_first_use: return NodeKind::kernel;
    case Api::memset_async: return NodeKind::memset;
    case Api::launch_host_func: return NodeKind::host;
    case Api::malloc_async: return NodeKind::mem_alloc;
    case Api::free_async: return NodeKind::mem_free;
    case Api::event_record_external: return NodeKind::event_record;
    case Api::stream_wait_event_external: return NodeKind::event_wait;
    default: return NodeKind::memcpy;
  }
}

Node node_of(const Call& call) {
  Node node;
  node.kind = node_kind(call.api);
  node.name = call.op != nullptr ? call.op->name : to_string(node.kind);
  if (call.op != nullptr && !call.op->args.empty()) node.params = {{0, call.op->args.size(), call.op->args}};
  if (node.kind == NodeKind::memcpy)
    node.copy = CopyInfo{call.source, call.address, call.bytes, call.source_space, call.space};
  if (node.kind == NodeKind::memset) node.fill = FillInfo{call.address, call.bytes, call.value, 1};
  if (node.kind == NodeKind::mem_alloc || node.kind == NodeKind::mem_free)
    node.allocation = AllocationInfo{call.address, node.kind == NodeKind::mem_alloc ? call.bytes : 0};
  return node;
}

void replay(const HostGraph& graph) {
  for (const HostNode& node : graph.nodes)
    if (node.run) node.run();
}

}  // namespace

HostDriver::HostDriver() = default;
HostDriver::~HostDriver() = default;

DeviceInfo HostDriver::device() const {
  return {"host", "host driver", "host", "none"};
}

HostDriver::Census HostDriver::census() const {
  const std::lock_guard lock(mutex_);
  return {blocks_.size() + reservations_.count(),
          streams_.size(),
          events_.size(),
          graphs_.size(),
          execs_.size(),
          captures_.size()};
}

std::uint32_t HostDriver::thread_number() {
  const auto [entry, fresh] =
      threads_.try_emplace(std::this_thread::get_id(), static_cast<std::uint32_t>(threads_.size() + 1));
  return entry->second;
}

Status HostDriver::submit(Call& call) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t thread = thread_number();
  if (call.api == Api::end_capture) return end(call, thread);
  const std::uint64_t own = capture_of(call.stream);
  const bool asks = call.api == Api::stream_is_capturing || call.api == Api::stream_get_capture_info;
  if (own != 0 && call.stream.id != 0 && captures_.at(own).invalidated && !asks) return Status::capture_invalidated;
  if (const auto verdict = judge(call, thread)) {
    HostCapture& capture = captures_.at(verdict->capture);
    if (verdict->answer.effect == Effect::invalidated) capture.invalidated = true;
    if (verdict->answer.effect == Effect::invalidated || verdict->answer.effect == Effect::refused)
      return static_cast<Status>(verdict->answer.code);
    if (verdict->answer.effect == Effect::captured) return enqueue(call, capture);
    if (verdict->answer.code != 0) return static_cast<Status>(verdict->answer.code);
  }
  return execute(call, thread);
}

Status HostDriver::enqueue(Call& call, HostCapture& capture) {
  const Stream stream = capture.holds(call.stream) ? call.stream : capture.origin;
  std::shared_ptr<std::byte[]> memory;
  if (call.api == Api::malloc_async) {
    if (const Status status = take_memory(call); status != Status::success) return status;
    memory = std::move(blocks_.extract(call.address).mapped().memory);
  }
  HostNode& node = capture.append(stream, node_of(call), work_of(call));
  node.memory = std::move(memory);
  node.early = call.op != nullptr && call.op->early;
  return Status::success;
}

Status HostDriver::execute(Call& call, std::uint32_t thread) {
  switch (call.api) {
    case Api::begin_capture: return begin(call, thread);
    case Api::exchange_capture_mode: {
      const auto found = thread_modes_.find(thread);
      const CaptureMode before = found == thread_modes_.end() ? CaptureMode::global : found->second;
      thread_modes_[thread] = std::exchange(call.mode, before);
      return Status::success;
    }
    case Api::stream_get_capture_info: {
      const std::uint64_t id = capture_of(call.stream);
      if (call.nodes != nullptr) call.nodes->clear();
      if (id != 0 && call.nodes != nullptr) *call.nodes = captures_.at(id).frontier.at(call.stream.id);
      return Status::success;
    }
    case Api::malloc:
    case Api::malloc_host:
    case Api::malloc_managed:
    case Api::malloc_async:
    case Api::free:
    case Api::free_host:
    case Api::free_async: return execute_memory(call);
    case Api::mem_address_reserve: return reservations_.reserve(call);
    case Api::mem_address_free: return reservations_.unreserve(call);
    case Api::mem_map:
      return call.source == 0 ? reservations_.map(call, next_id_++) : reservations_.alias(call, next_id_++);
    case Api::mem_unmap: return reservations_.unmap(call);
    case Api::stream_create:
    case Api::stream_destroy:
    case Api::event_create:
    case Api::event_destroy:
    case Api::event_record: return execute_stream_or_event(call);
    case Api::stream_wait_event: return execute_wait(call);
    case Api::graph_instantiate:
    case Api::graph_launch:
    case Api::graph_upload:
    case Api::graph_exec_update:
    case Api::graph_destroy:
    case Api::graph_exec_destroy: return execute_graph(call);
    default: return execute_work(call);
  }
}

Status HostDriver::execute_work(const Call& call) const {
  if (const auto work = work_of(call)) work();
  return Status::success;
}

Status HostDriver::take_memory(Call& call) {
  Block block;
  try {
    block.memory = take_host_memory(call.bytes + 256);
  } catch (const std::bad_alloc&) {
    return Status::memory_allocation;
  }
  block.space = call.space;
  block.bytes = call.bytes;
  block.id = next_id_++;
  const auto raw = reinterpret_cast<Address>(block.memory.get());
  call.address = (raw + 255) / 256 * 256;
  blocks_.emplace(call.address, std::move(block));
  return Status::success;
}

Status HostDriver::execute_memory(Call& call) {
  const bool frees = call.api == Api::free || call.api == Api::free_host || call.api == Api::free_async;
  if (!frees) return take_memory(call);
  if (call.address == 0) return Status::success;
  return blocks_.erase(call.address) == 1 ? Status::success : Status::invalid_value;
}

Status HostDriver::execute_stream_or_event(Call& call) {
  switch (call.api) {
    case Api::stream_create:
      call.stream = {next_id_++};
      streams_[call.stream.id] = {call.blocking};
      return Status::success;
    case Api::stream_destroy: streams_.erase(call.stream.id); return Status::success;
    case Api::event_create:
      call.event = {next_id_++};
      events_[call.event.id] = {};
      return Status::success;
    case Api::event_destroy: events_.erase(call.event.id); return Status::success;
    default: break;  // event_record
  }
  const auto event = events_.find(call.event.id);
  if (event == events_.end()) return Status::invalid_handle;
  const std::uint64_t id = capture_of(call.stream);
  event->second = {id, id == 0 ? std::vector<std::uint64_t>{} : captures_.at(id).frontier.at(call.stream.id)};
  return Status::success;
}

Status HostDriver::execute_wait(const Call& call) {
  const auto event = events_.find(call.event.id);
  if (event == events_.end()) return Status::invalid_handle;
  if (event->second.capture == 0) return Status::success;
  const auto capture = captures_.find(event->second.capture);
  if (capture == captures_.end()) return Status::captured_event;
  capture->second.depend(call.stream, event->second.nodes);
  return Status::success;
}

Status HostDriver::execute_graph(Call& call) {
  if (call.api == Api::graph_destroy)
    return graphs_.erase(call.graph.id) == 1 ? Status::success : Status::invalid_handle;
  if (call.api == Api::graph_exec_destroy)
    return execs_.erase(call.exec.id) == 1 ? Status::success : Status::invalid_handle;
  if (call.api == Api::graph_instantiate || call.api == Api::graph_exec_update) {
    const auto graph = graphs_.find(call.graph.id);
    if (graph == graphs_.end()) return Status::invalid_handle;
    if (call.api == Api::graph_instantiate) {
      call.exec = {next_id_++};
      execs_[call.exec.id] = graph->second;
      return Status::success;
    }
    const auto exec = execs_.find(call.exec.id);
    if (exec == execs_.end()) return Status::invalid_handle;
    if (exec->second.nodes.size() != graph->second.nodes.size()) return Status::graph_exec_update_failure;
    exec->second = graph->second;
    return Status::success;
  }
  const auto exec = execs_.find(call.exec.id);
  if (exec == execs_.end()) return Status::invalid_handle;
  if (call.api == Api::graph_launch) replay(exec->second);
  return Status::success;
}

Status HostDriver::begin(const Call& call, std::uint32_t thread) {
  const auto stream = streams_.find(call.stream.id);
  if (stream == streams_.end()) return call.stream.id == 0 ? Status::capture_unsupported : Status::invalid_handle;
  if (capture_of(call.stream) != 0) return Status::illegal_state;
  HostCapture capture;
  capture.thread = thread;
  capture.mode = call.mode;
  capture.origin = call.stream;
  capture.blocking = stream->second.blocking;
  capture.frontier[call.stream.id] = {};
  captures_.emplace(next_id_++, std::move(capture));
  return Status::success;
}

Status HostDriver::end(Call& call, std::uint32_t thread) {
  const std::uint64_t id = capture_of(call.stream);
  if (id == 0) return Status::illegal_state;
  HostCapture& capture = captures_.at(id);
  if (!(call.stream == capture.origin)) {
    capture.invalidated = true;
    return Status::capture_unmatched;
  }
  HostCapture ended = std::move(capture);
  captures_.erase(id);
  if (ended.thread != thread && ended.mode != CaptureMode::relaxed) return Status::capture_wrong_thread;
  if (ended.invalidated) return Status::capture_invalidated;
  if (!ended.joined()) return Status::capture_unjoined;
  call.graph = {next_id_++};
  graphs_.emplace(call.graph.id, std::move(ended.graph));
  return Status::success;
}

Status HostDriver::identify(Address address, Buffer& out) {
  const std::lock_guard lock(mutex_);
  if (const auto mapping = reservations_.find(address)) {
    out = {};
    out.name = fmt::format("mapping {}", mapping->id);
    out.base = mapping->base;
    out.bytes = mapping->bytes;
    out.allocation = driver_allocation(mapping->id);
    return Status::success;
  }
  const auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return Status::invalid_value;
  const auto& [base, block] = *std::prev(next);
  if (address - base >= block.bytes) return Status::invalid_value;
  out = {};
  out.name = fmt::format("allocation {}", block.id);
  out.base = base;
  out.bytes = block.bytes;
  out.space = block.space;
  out.allocation = driver_allocation(block.id);
  return Status::success;
}

Status HostDriver::introspect(GraphHandle handle, Introspection& out) {
  const std::lock_guard lock(mutex_);
  const auto graph = graphs_.find(handle.id);
  if (graph == graphs_.end()) return Status::invalid_handle;
  out = {};
  for (const HostNode& node : graph->second.nodes) {
    const auto id = static_cast<NodeId>(out.graph.nodes.size());
    for (const std::uint64_t before : node.dependencies)
      out.graph.edges.push_back(
          {static_cast<NodeId>(before - 1), id, node.early ? EdgeKind::programmatic : EdgeKind::full});
    out.graph.nodes.push_back(node.node);
    out.handles.push_back(id + 1);
  }
  return Status::success;
}

}  // namespace refrain
