#include "tests/cupti/host_auditor.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <functional>
#include <string_view>
#include <thread>

#include "graphs/error.hpp"

namespace refrain::test {
namespace {

using TellTest = void (*)(const Told*);

TellTest told_auditor() {
  void* library = ::dlopen(REFRAIN_TOLD_AUDITOR, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Error(ErrorKind::input, "dlopen", ::dlerror(), REFRAIN_TOLD_AUDITOR);
  ::setenv("CUDA_INJECTION64_PATH", REFRAIN_TOLD_AUDITOR, 1);
  return reinterpret_cast<TellTest>(::dlsym(library, "tell_test"));
}

// Streams of the host driver are numbered from 1, and CUDA's handles 1 and 2 mean default streams.
constexpr std::uint64_t kFirstStream = 0x1000;

std::uint64_t stream_handle(Stream stream) {
  return stream.id == 0 ? 0 : kFirstStream + stream.id;
}

/// Calls that the auditor does not watch.
bool is_unwatched(Api api) {
  return api == Api::stream_get_capture_info || api == Api::stream_is_capturing || api == Api::mem_get_info;
}

}  // namespace

std::optional<Buffer> HostAuditor::Answers::identify(Address address) {
  Buffer buffer;
  if (inner.identify(address, buffer) != Status::success) return std::nullopt;
  return buffer;
}

WalkedGraph HostAuditor::Answers::walk(std::uint64_t graph) {
  Introspection seen;
  check(inner.introspect({graph}, seen), "reading a graph");
  attach_known_accesses(seen.graph);
  return {std::move(seen.graph), std::move(seen.handles)};
}

std::uint64_t HostAuditor::Answers::last_node(std::uint64_t stream, bool) {
  std::vector<std::uint64_t> nodes;
  if (inner.capture_frontier({stream - kFirstStream}, nodes) != Status::success || nodes.size() != 1) return 0;
  return nodes.front();
}

HostAuditor::HostAuditor(bool deaf) : deaf_(deaf) {
  const Told told{this, [](void* self) { return static_cast<HostAuditor*>(self)->begin(); },
                  [](void* self) { return static_cast<HostAuditor*>(self)->end(); },
                  [](void* self) { return static_cast<HostAuditor*>(self)->stream_ ? 1 : 0; },
                  [](void* self, const char* records, std::size_t bytes) {
                    auto& me = *static_cast<HostAuditor*>(self);
                    const std::lock_guard lock(me.mutex_);
                    return me.deaf_ || me.descriptions_.take({records, bytes}) ? 0 : 1;
                  }};
  told_auditor()(&told);
}

HostAuditor::~HostAuditor() {
  told_auditor()(nullptr);
}

int HostAuditor::begin() {
  builder_.header({"live", {}});
  stream_.emplace(builder_, answers_, CallStreamOptions{});
  descriptions_.listen(*stream_);
  return 0;
}

int HostAuditor::end() {
  descriptions_.unlisten();
  stream_->finish({});
  stream_.reset();
  refused_ = descriptions_.take_refused().count;
  return 0;
}

LiveCall HostAuditor::live(const Call& call) {
  LiveCall out;
  out.name.api = call.api;
  out.thread = std::hash<std::thread::id>{}(std::this_thread::get_id());
  out.time_ns = time_ += 10;
  out.stream = stream_handle(call.stream);
  out.address = call.address;
  out.source = call.source;
  out.bytes = call.bytes;
  out.mode = call.mode;
  if (call.op != nullptr) out.function = std::hash<std::string_view>{}(call.op->name);
  out.object = call.exec.id != 0 ? call.exec.id : call.event.id != 0 ? call.event.id : call.graph.id;
  switch (call.api) {
    case Api::end_capture: out.object = 0, out.made = call.graph.id; break;
    case Api::graph_instantiate: out.object = call.graph.id, out.made = call.exec.id; break;
    case Api::graph_exec_update: out.object = call.exec.id, out.made = call.graph.id; break;
    case Api::stream_create: out.made = stream_handle(call.stream); break;
    case Api::event_create: out.made = call.event.id; break;
    default: break;
  }
  return out;
}

Status HostAuditor::submit(Call& call) {
  if (is_unwatched(call.api)) return inner_.submit(call);
  LiveCall entered;
  {
    const std::lock_guard lock(mutex_);
    entered = live(call);
    entered.correlation = ++correlation_;
    if (stream_) stream_->enter(entered);
  }
  const Status status = inner_.submit(call);
  const std::lock_guard lock(mutex_);
  LiveCall left = live(call);
  left.correlation = entered.correlation;
  left.code = static_cast<std::int32_t>(status);
  if (stream_) stream_->exit(left);
  return status;
}

}  // namespace refrain::test
