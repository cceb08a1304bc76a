#include "runtime/recording_driver.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace refrain {
namespace {

bool has_stream(const Call& call) {
  switch (call.api) {
    case Api::mem_address_reserve:
    case Api::mem_address_free:
    case Api::mem_map:
    case Api::mem_unmap:
    case Api::device_synchronize:
    case Api::event_query:
    case Api::event_synchronize:
    case Api::event_create:
    case Api::event_destroy:
    case Api::graph_instantiate:
    case Api::graph_destroy:
    case Api::graph_exec_destroy:
    case Api::graph_exec_update: return false;
    default: return !is_memory_call(call.api);
  }
}

std::uint64_t object_of(const Call& call) {
  if (call.event.id != 0 && call.api != Api::event_create) return call.event.id;
  if (call.exec.id != 0 && call.api != Api::graph_instantiate) return call.exec.id;
  return call.api == Api::end_capture ? 0 : call.graph.id;
}

std::uint64_t made_by(const Call& call) {
  switch (call.api) {
    case Api::stream_create: return call.stream.id;
    case Api::event_create: return call.event.id;
    case Api::end_capture:
    case Api::graph_exec_update: return call.graph.id;
    case Api::graph_instantiate: return call.exec.id;
    default: return 0;
  }
}

}  // namespace

std::uint64_t RecordingDriver::now_ns() const {
  const auto since = std::chrono::steady_clock::now() - start_;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

std::uint32_t RecordingDriver::thread_number() {
  return threads_.try_emplace(std::this_thread::get_id(), static_cast<std::uint32_t>(threads_.size() + 1))
      .first->second;
}

std::uint32_t RecordingDriver::stream_number(Stream stream) {
  return streams_.try_emplace(stream.id, static_cast<std::uint32_t>(streams_.size())).first->second;
}

Recording RecordingDriver::recording(std::string name, const BufferRegistry& registry) const {
  const std::lock_guard lock(mutex_);
  Recording out{std::move(name), graphs_, timeline_, true};
  // A call is numbered before it is made and written down after, so a slow one of another thread stands too late.
  const auto earlier = [](const ApiEvent& a, const ApiEvent& b) { return a.sequence < b.sequence; };
  std::stable_sort(out.timeline.calls.begin(), out.timeline.calls.end(), earlier);
  for (const Buffer& buffer : registry.all()) out.timeline.buffers.push_back({buffer});
  for (const Buffer& buffer : outside_) out.timeline.buffers.push_back({buffer});
  return out;
}

void RecordingDriver::add_graph(GraphHandle handle, Graph graph) {
  auditor_.graph(handle.id, graph);
  const std::lock_guard lock(mutex_);
  timeline_.graphs.push_back({clock_.tick(), handle.id, static_cast<std::uint32_t>(graphs_.size())});
  graphs_.push_back(std::move(graph));
}

void RecordingDriver::add_outside_death(Buffer buffer) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(outside_.begin(), outside_.end(),
                                  [&](const Buffer& b) { return b.allocation == buffer.allocation; });
  if (known != outside_.end() && known->died) return;  // another graph's watch found it first
  buffer.died = clock_.tick();
  if (known != outside_.end())
    known->died = buffer.died;
  else
    outside_.push_back(std::move(buffer));
}

void RecordingDriver::add_outside_birth(Buffer buffer) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(outside_.begin(), outside_.end(),
                                  [&](const Buffer& b) { return b.allocation == buffer.allocation; });
  if (known != outside_.end()) return;
  buffer.born = clock_.tick();
  outside_.push_back(std::move(buffer));
}

void RecordingDriver::bind(std::string_view name, Address address, std::uint64_t bytes) {
  auditor_.binding(name, address, bytes);
  const std::lock_guard lock(mutex_);
  timeline_.bindings.push_back({clock_.tick(), names_.id(name), address, bytes});
}

void RecordingDriver::add_check(ReplayCheck check, std::string_view graph, std::string_view axis,
                                std::string_view fill) {
  const std::lock_guard lock(mutex_);
  check.sequence = clock_.tick();
  check.graph = names_.id(graph);
  check.axis = names_.id(axis);
  check.fill = names_.id(fill);
  timeline_.checks.push_back(check);
}

void RecordingDriver::pause() {
  const std::lock_guard lock(mutex_);
  assert(open_.empty());
  timeline_.complete = false;
  paused_ = true;
}

void RecordingDriver::resume() {
  const std::lock_guard lock(mutex_);
  assert(open_.empty());
  paused_ = false;
}

RecordingDriver::Range::Range(RecordingDriver& driver, std::string_view name, bool step, const RowCounts& rows)
    : driver_(driver),
      shown_(driver.inner_, step ? "step" : "range", rows.real == RowCounts::kNotTold ? 0 : rows.real),
      recorded_(!driver.paused_) {
  if (rows.bucket != RowCounts::kNotTold) const ProfilerRange bucket(driver.inner_, "bucket", rows.bucket);
  if (!recorded_) return;
  const std::lock_guard lock(driver_.mutex_);
  event_.first = driver_.clock_.tick();
  event_.start_ns = driver_.now_ns();
  event_.thread = driver_.thread_number();
  event_.name = driver_.names_.id(name);
  event_.step = step;
  event_.rows = rows;
}

RecordingDriver::Range::~Range() {
  if (!recorded_) return;
  const std::lock_guard lock(driver_.mutex_);
  event_.last = driver_.clock_.tick();
  event_.end_ns = driver_.now_ns();
  driver_.timeline_.ranges.push_back(event_);
}

Status RecordingDriver::submit(Call& call) {
  if (paused_) {
    assert(call.api != Api::begin_capture);
    return inner_.submit(call);
  }
  const std::uint64_t begin_ns = now_ns();
  const std::uint64_t sequence = clock_.tick();
  const Status status = inner_.submit(call);
  const std::lock_guard lock(mutex_);
  if (call.api == Api::begin_capture && status == Status::success) {
    open_.push_back({++captures_, call.stream.id, call.mode});
    streams_in_capture_[call.stream.id] = captures_;
  }
  write(call, status, sequence, begin_ns);
  follow(call, status);
  return status;
}

/// The capture of the call's own stream, else the one that began last: its window is open while the call runs.
const RecordingDriver::OpenCapture* RecordingDriver::capture_for(const Call& call) const {
  const auto own = streams_in_capture_.find(call.stream.id);
  if (has_stream(call) && own != streams_in_capture_.end()) {
    const auto found =
        std::find_if(open_.begin(), open_.end(), [&](const OpenCapture& c) { return c.id == own->second; });
    if (found != open_.end()) return &*found;
  }
  return open_.empty() ? nullptr : &open_.back();
}

Target RecordingDriver::target_of(const Call& call) const {
  if (call.target != Target::none || open_.empty() || !has_stream(call)) return call.target;
  const OpenCapture* capture = capture_for(call);
  if (call.stream.id == capture->stream) return Target::capturing;
  if (streams_in_capture_.contains(call.stream.id)) return Target::forked;
  return call.stream.id == 0 ? Target::legacy : Target::other;
}

void RecordingDriver::write(const Call& call, Status status, std::uint64_t sequence, std::uint64_t begin_ns) {
  ApiEvent event;
  event.sequence = sequence;
  event.start_ns = begin_ns;
  event.end_ns = now_ns();
  event.object = object_of(call);
  event.made = made_by(call);
  event.address = call.address;
  event.source = call.source;
  event.bytes = call.bytes;
  event.thread = thread_number();
  event.stream = stream_number(call.stream);
  event.api = call.api;
  event.target = target_of(call);
  event.code = static_cast<int>(status);
  event.mode = call.mode;
  event.space = call.space;
  event.source_space = call.source_space;
  if (call.op != nullptr) event.detail = names_.id(call.op->name);
  if (const OpenCapture* capture = capture_for(call)) {
    event.capture = capture->id;
    if (call.api != Api::exchange_capture_mode) event.mode = capture->mode;
  }
  timeline_.calls.push_back(event);
}

/// Keeps which streams and events belong to which capture: a wait for a captured event joins the stream to it.
void RecordingDriver::follow(const Call& call, Status status) {
  if (call.api == Api::end_capture) {
    if (status == Status::illegal_state || status == Status::capture_unmatched) return;
    const auto ended =
        std::find_if(open_.begin(), open_.end(), [&](const OpenCapture& c) { return c.stream == call.stream.id; });
    if (ended == open_.end()) return;
    std::erase_if(streams_in_capture_, [&](const auto& entry) { return entry.second == ended->id; });
    open_.erase(ended);
    return;
  }
  if (status != Status::success) return;
  if (call.api == Api::event_record) {
    const auto own = streams_in_capture_.find(call.stream.id);
    if (own != streams_in_capture_.end())
      events_in_capture_[call.event.id] = own->second;
    else
      events_in_capture_.erase(call.event.id);
  }
  if (call.api == Api::stream_wait_event)
    if (const auto event = events_in_capture_.find(call.event.id); event != events_in_capture_.end())
      streams_in_capture_.try_emplace(call.stream.id, event->second);
}

}  // namespace refrain
