#include "audit/cupti/call_stream.hpp"

#include <algorithm>
#include <utility>

#include "audit/cupti/call_kinds.hpp"
#include "audit/cupti/demangle.hpp"
#include "traces/step_names.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kLegacy = 1, kPerThread = 2;  // cudaStreamLegacy, cudaStreamPerThread
// No handle is odd, so the per-thread default stream of thread 7 has this key's bit and 7.
constexpr StreamKey kPerThreadKey = std::uint64_t{1} << 63;

bool is_kernel(Api api) noexcept {
  return api == Api::launch_kernel || api == Api::launch_kernel_first_use;
}

bool was_captured(const ApiEvent& event) noexcept {
  return event.capture != 0 && (event.target == Target::capturing || event.target == Target::forked);
}

}  // namespace

CallStream::CallStream(RecordSink& sink, LiveDriver& driver, const CallStreamOptions& options)
    : sink_(sink),
      driver_(driver),
      options_(options),
      memory_(
          driver, [this](const Buffer& buffer) { sink_.buffer(buffer); }, [this] { return tick(); }) {}

CallStream::Thread& CallStream::thread_of(std::uint64_t id) {
  Thread& thread = threads_[id];
  if (thread.number == 0) thread.number = static_cast<std::uint32_t>(threads_.size());
  return thread;
}

std::optional<StreamKey> CallStream::stream_of(const LiveCall& call, const Thread& thread) const {
  if (!has_stream(call.name.api) || call.kind != LiveKind::call) return std::nullopt;
  if (call.stream == kPerThread || (call.stream == 0 && call.per_thread)) return kPerThreadKey | thread.number;
  return call.stream == kLegacy ? 0 : call.stream;
}

std::uint32_t CallStream::stream_number(std::optional<StreamKey> stream) {
  if (!stream) return 0;
  const auto [known, fresh] = streams_.try_emplace(*stream, stream_count_);
  if (fresh) ++stream_count_;
  return known->second;
}

Target CallStream::target_of(std::optional<StreamKey> stream, const LiveCaptures::Open* capture) const {
  if (!stream || capture == nullptr) return Target::none;
  if (*stream == capture->stream) return Target::capturing;
  if (captures_.holds(*stream)) return Target::forked;
  if ((*stream & kPerThreadKey) != 0) return Target::per_thread;
  return *stream == 0 ? Target::legacy : Target::other;
}

void CallStream::enter(const LiveCall& call) {
  Thread& thread = thread_of(call.thread);
  // A runtime call makes driver calls of its own: they share its correlation id.
  if (thread.open && (call.correlation == thread.correlation || (call.from_driver && !thread.from_driver))) {
    ++thread.nested;
    return;
  }
  thread.open = true;
  thread.from_driver = call.from_driver;
  thread.correlation = call.correlation;
  thread.nested = 0;
  thread.leaving.reset();
  thread.mode = call.mode;
  before(call, thread);
  thread.sequence = tick();
  thread.start_ns = call.time_ns;
}

/// What must be looked at while it is still as the call finds it.
void CallStream::before(const LiveCall& call, Thread& thread) {
  if (call.kind != LiveKind::call) return;
  const Api api = call.name.api;
  look_for_capture(call, thread);
  if (takes_memory(api)) thread.leaving = memory_.find(call.address);
  if (api == Api::graph_launch) before_launch(call);
  if (api == Api::graph_instantiate && graphs_.number_of(call.object) == 0) read_graph(call.object, call.thread);
  if (api == Api::graph_exec_update && graphs_.number_of(call.made) == 0) read_graph(call.made, call.thread);
}

/// Once for each stream: one that is in a capture before any call of it was seen has begun it before anyone listened.
void CallStream::look_for_capture(const LiveCall& call, const Thread& thread) {
  const std::optional<StreamKey> stream = stream_of(call, thread);
  if (!stream || streams_.contains(*stream) || call.name.api == Api::stream_create) return;
  (void)stream_number(stream);
  if (const std::uint64_t capture = driver_.capture_of(call.stream, call.per_thread); capture != 0)
    captures_.found(*stream, capture);
}

void CallStream::before_launch(const LiveCall& call) {
  LiveGraphs::Exec& exec = graphs_.exec(call.object);
  ++exec.launches;
  if (exec.graph != 0 && options_.checks.wanted(exec.launches)) memory_.check(exec.graph, call.thread);
}

void CallStream::exit(const LiveCall& call) {
  Thread& thread = thread_of(call.thread);
  if (!thread.open) return;  // it began before anyone listened
  if (thread.nested > 0) {
    --thread.nested;
    return;
  }
  thread.open = false;
  switch (call.kind) {
    case LiveKind::graph_edit: return graphs_.edited();
    case LiveKind::conditional: graphs_.edited(); return graphs_.has_bodies(call.made, call.object, call.bodies);
    default: break;
  }
  const std::optional<StreamKey> stream = stream_of(call, thread);
  if (call.name.api == Api::begin_capture && call.code == 0) {
    captures_.begin(*stream, call.mode);
    if (call.object != 0) graphs_.edited();  // into a graph that exists: a body, or one that grows
  }
  const ApiEvent event = event_of(call, thread, stream);
  sink_.call(event, detail_of(call, event, thread));
  follow(call, event, thread, stream);
}

ApiEvent CallStream::event_of(const LiveCall& call, const Thread& thread, std::optional<StreamKey> stream) {
  ApiEvent event;
  event.sequence = thread.sequence;
  event.start_ns = thread.start_ns - options_.start_ns;
  event.end_ns = std::max(call.time_ns, thread.start_ns) - options_.start_ns;
  event.address = call.address;
  event.source = call.source;
  event.bytes = call.bytes;
  event.thread = thread.number;
  event.stream = stream_number(stream);
  event.code = call.code;
  event.mode = thread.mode;
  event.api = call.kind == LiveKind::exec_edit ? Api::graph_exec_update : call.name.api;
  if (const LiveCaptures::Open* capture = captures_.at(stream)) {
    event.capture = capture->id;
    event.target = target_of(stream, capture);
    if (event.api != Api::exchange_capture_mode) event.mode = capture->mode;
  }
  if (call.external && event.api == Api::event_record) event.api = Api::event_record_external;
  if (call.external && event.api == Api::stream_wait_event) event.api = Api::stream_wait_event_external;
  if (is_kernel(event.api) && call.function != 0 && call.code == 0 && functions_.insert(call.function).second &&
      options_.sees_first_uses)
    event.api = Api::launch_kernel_first_use;
  classify_copy(call, event);
  name_objects(call, event);
  return event;
}

void CallStream::classify_copy(const LiveCall& call, ApiEvent& event) {
  const bool fill = event.api == Api::memset || event.api == Api::memset_async;
  if (!fill && !is_copy(call.name)) return;
  const auto space_of = [&](Address address) {
    if (address == 0) return MemorySpace::unknown;
    const std::optional<Buffer> buffer = driver_.identify(address);
    return buffer ? buffer->space : MemorySpace::pageable;
  };
  event.space = space_of(call.address);
  if (fill && event.space == MemorySpace::pageable) event.space = MemorySpace::device;  // of the graph's own memory
  if (fill) return;
  event.source_space = space_of(call.source);
  event.api = copy_between(call.name, event.source_space, event.space);
}

/// Graphs and graph execs by the numbers that the recording has for them; the rest by its handle.
void CallStream::name_objects(const LiveCall& call, ApiEvent& event) {
  event.object = call.object;
  event.made = call.code == 0 ? call.made : 0;
  switch (event.api) {
    case Api::end_capture:
      event.object = 0;
      if (event.made != 0) event.made = graphs_.name_graph(call.made);
      break;
    case Api::graph_instantiate:
      event.object = graphs_.number_of(call.object);
      if (event.made == 0) break;
      graphs_.instantiated(call.made, event.object);
      event.made = graphs_.exec(call.made).number;
      break;
    case Api::graph_exec_update:
      event.object = graphs_.exec(call.object).number;
      event.made = call.kind == LiveKind::exec_edit || call.code != 0 ? 0 : graphs_.number_of(call.made);
      break;
    case Api::graph_launch:
    case Api::graph_upload:
    case Api::graph_exec_destroy: event.object = graphs_.exec(call.object).number; break;
    case Api::graph_destroy: event.object = graphs_.number_of(call.object); break;
    case Api::begin_capture: event.object = 0; break;
    default: break;
  }
}

/// A launch is told by its kernel; any other call, where it matters who made it, by the function that did.
std::string CallStream::detail_of(const LiveCall& call, const ApiEvent& event, const Thread& thread) {
  last_site_.clear();
  const bool wanted = captures_.any() || (!thread.ranges.empty() && !is_kernel(event.api));
  const bool often = event.api == Api::event_query || event.api == Api::stream_query || event.api == Api::graph_launch;
  if (wanted && !often) last_site_ = driver_.call_site();
  if (!is_kernel(event.api)) return last_site_;
  if (call.symbol.empty()) return {};
  const auto [known, fresh] = names_.try_emplace(call.function);
  if (fresh) known->second = demangled(call.symbol);
  return known->second;
}

void CallStream::follow(const LiveCall& call, const ApiEvent& event, Thread& thread, std::optional<StreamKey> stream) {
  if (event.api == Api::end_capture) {
    constexpr std::int32_t kIllegalState = 401, kUnmatched = 903;
    if (event.made != 0) read_graph(call.made, call.thread);
    if (event.code != kIllegalState && event.code != kUnmatched) captures_.end(*stream);
    return;
  }
  if (call.code != 0) return;
  if (event.api == Api::event_record) captures_.record(*stream, call.object);
  if (event.api == Api::stream_wait_event) captures_.wait(*stream, call.object);
  if (was_captured(event)) note_node(call, event, thread);
  follow_graphs(call, event);
  follow_memory(call, event, thread);
}

void CallStream::note_node(const LiveCall& call, const ApiEvent& event, const Thread& thread) {
  if (event.api == Api::event_record || event.api == Api::stream_wait_event || event.api == Api::begin_capture) return;
  const std::uint64_t node = driver_.last_node(call.stream, call.per_thread);
  if (node == 0) return;
  NodeOrigin origin{{}, last_site_};
  for (const Range& range : thread.ranges) origin.scope += (origin.scope.empty() ? "" : "/") + range.name;
  graphs_.came_from(node, std::move(origin));
}

void CallStream::follow_memory(const LiveCall& call, const ApiEvent& event, Thread& thread) {
  if (event.api == Api::mem_address_reserve) memory_.reserved(call.address, call.bytes);
  if (was_captured(event)) return;  // an allocation node, or a free node: a replay's
  if (gives_memory(event.api)) memory_.born(call.address, event.sequence);
  if (thread.leaving) memory_.died(std::move(*thread.leaving), event.sequence);
  thread.leaving.reset();
}

void CallStream::push_range(std::uint64_t thread_id, std::uint64_t time_ns, std::string_view name) {
  Thread& thread = thread_of(thread_id);
  Range range;
  range.event.first = tick();
  range.event.start_ns = time_ns - options_.start_ns;
  range.event.thread = thread.number;
  range.event.step = is_step_name(name);
  range.name = name;
  thread.ranges.push_back(std::move(range));
}

std::string CallStream::pop_range(std::uint64_t thread_id, std::uint64_t time_ns) {
  Thread& thread = thread_of(thread_id);
  if (thread.ranges.empty()) return {};
  Range range = std::move(thread.ranges.back());
  thread.ranges.pop_back();
  range.event.last = tick();
  range.event.end_ns = time_ns - options_.start_ns;
  sink_.range(range.event, range.name);
  return range.name;
}

bool CallStream::is_open(std::uint64_t thread) const {
  const auto known = threads_.find(thread);
  return known != threads_.end() && known->second.open;
}

void CallStream::finish(std::vector<EvidenceLimit> limits) {
  memory_.finish();
  if (unread_ != 0)
    limits.push_back(
        {"unread-graphs", "the driver did not let these graphs be read: what they hold is not known", unread_});
  const bool told = std::any_of(limits.begin(), limits.end(),
                                [](const EvidenceLimit& limit) { return limit.name == kCachingAllocator; });
  if (memory_.uses_mapped() && !told && !allocator_followed_)
    limits.push_back(
        {std::string(kCachingAllocator),
         "the process maps memory for its graphs itself (cuMemMap): what its allocator frees and hands out "
         "again inside is not seen",
         1});
  for (const EvidenceLimit& limit : limits) sink_.limit(limit);
  sink_.end(true);
}

}  // namespace refrain
