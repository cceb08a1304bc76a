#include "audit/cupti/auditor.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <exception>
#include <fstream>
#include <utility>

#include "audit/cupti/process_facts.hpp"

namespace refrain {
namespace {

// The auditor's own calls of CUDA are no calls of the program.
thread_local bool inside = false;

struct Inside {
  Inside() { inside = true; }
  ~Inside() { inside = false; }
};

}  // namespace

Auditor::Session::Session(std::string path, const RecordingHeader& header, const CallStreamOptions& options)
    : sink(std::move(path), {header.name, driver.device()}), stream(sink, driver, options) {}

Auditor::Auditor(const LiveSettings& settings) : settings_(settings), window_(settings) {}

/// Whatever goes wrong in the auditor stays in it.
template <class Work>
void Auditor::contained(Work&& work) noexcept {
  try {
    work();
  } catch (...) {
    ++failures_;
  }
}

bool Auditor::open() noexcept {
  bool attached = false;
  contained([&] {
    const std::lock_guard lock(mutex_);
    if (!window_.may_open() || settings_.folder.empty()) return;
    attached = attach();
    if (!attached) return window_.step_aside();
    opened_ns_ = now_ns();
    recording_.clear();
    window_.opened(opened_ns_);
  });
  if (attached) contained([&] { enable(); });
  return attached;
}

void CUPTIAPI Auditor::callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (inside || data == nullptr) return;
  const Inside guard;
  auto& auditor = *static_cast<Auditor*>(self);
  auditor.contained([&] { auditor.take(domain, id, *static_cast<const CUpti_CallbackData*>(data)); });
}

void Auditor::take(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const std::vector<Watched>& table = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime_ : driver_;
  if (id >= table.size() || table[id].call == nullptr) return;
  {
    const std::lock_guard lock(mutex_);
    const WindowState state = window_.state();
    if (detaching_ || (state != WindowState::open && state != WindowState::closing)) return;
    if (state == WindowState::open && begin_session()) add(table[id], domain, data);
    if (data.callbackSite != CUPTI_API_EXIT || !window_.must_close(now_ns())) return;
    detaching_ = true;
    end_session();
  }
  // Without the lock: CUPTI may wait for callbacks of other threads, which wait for it.
  detach();
}

void Auditor::add(const Watched& watched, CUpti_CallbackDomain domain, const CUpti_CallbackData& data) {
  CallStream& stream = session_->stream;
  const LiveCall call = call_of(watched, domain, data);
  if (data.callbackSite == CUPTI_API_ENTER) return stream.enter(call);
  stream.exit(call);
  const bool outer = !stream.is_open(call.thread);
  if (outer && call.name.api == Api::graph_launch && call.kind == LiveKind::call) window_.count_launch();
}

LiveCall Auditor::call_of(const Watched& watched, CUpti_CallbackDomain domain, const CUpti_CallbackData& data) const {
  LiveCall call;
  call.kind = watched.call->kind;
  call.name = watched.name;
  call.per_thread = watched.per_thread;
  call.from_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
  call.correlation = data.correlationId;
  call.thread = thread_number();
  call.time_ns = now_ns();
  const bool exit = data.callbackSite == CUPTI_API_EXIT;
  // cudaError_t or CUresult: both are numbers of the same meaning where a capture is concerned.
  if (exit && data.functionReturnValue != nullptr) call.code = *static_cast<const int*>(data.functionReturnValue);
  if (watched.call->decode != nullptr && data.functionParams != nullptr)
    watched.call->decode(data.functionParams, exit && call.code == 0, call);
  if (data.symbolName != nullptr && call.function != 0) call.symbol = data.symbolName;
  return call;
}

/// With the first call of a window, when the driver is up. A process in which it cannot be is left alone.
bool Auditor::begin_session() {
  if (session_) return true;
  const std::string path = fmt::format("{}/{}-{}.jsonl.gz", settings_.folder, ::getpid(), sessions_ + 1);
  CallStreamOptions options{settings_.checks, opened_ns_, false};
  options.sees_first_uses = sessions_ == 0 && settings_.opens_at_start() && loads_kernels_lazily();
  try {
    session_ = std::make_unique<Session>(path, RecordingHeader{command_line(), {}}, options);
  } catch (const std::exception& error) {
    say("no-recording", error.what());
    window_.ask_close();
    return false;
  }
  ++sessions_;
  descriptions_.listen(session_->stream);
  blocks_.listen(session_->stream);
  return true;
}

/// What is missing for whatever reason is one limit: a name comes once.
std::vector<EvidenceLimit> Auditor::limits() {
  std::vector<EvidenceLimit> out;
  const LiveDescriptions::Refused refused = descriptions_.take_refused();
  std::string lost;
  if (failures_ != 0)
    lost = fmt::format("the auditor failed {} time(s) inside the process: what it was to write then is missing",
                       failures_.load());
  if (refused.count != 0)
    lost += fmt::format("{}{} description(s) by the program were refused, the first for this: {}",
                        lost.empty() ? "" : "; ", refused.count, refused.first);
  if (!lost.empty()) out.push_back({std::string(kRecordsLost), std::move(lost), failures_ + refused.count});
  if (has_library("libc10_cuda.so") && !session_->stream.allocator_followed())
    out.push_back(
        {std::string(kCachingAllocator),
         "PyTorch's caching allocator hands memory out and takes it back without the driver: tensors that "
         "were freed inside it are not seen as freed (refrain.follow_torch() of the Python module tells of them)",
         1});
  return out;
}

void Auditor::end_session() {
  if (!session_) return;
  descriptions_.unlisten();
  blocks_.unlisten();
  session_->stream.finish(limits());
  recording_ = session_->sink.path();
  if (const std::string& failure = session_->sink.failure(); !failure.empty()) say("recording-cut", failure);
  session_.reset();
  failures_ = 0;
}

void Auditor::close() noexcept {
  window_.ask_close();
  if (window_.state() != WindowState::closing) return;
  // A watched call that asks for what it has: its exit is where the window closes.
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  if (cudaThreadExchangeStreamCaptureMode(&mode) == cudaSuccess) (void)cudaThreadExchangeStreamCaptureMode(&mode);
}

void Auditor::toggle() noexcept {
  if (!open()) window_.ask_close();
}

void Auditor::push_range(std::string_view name) noexcept {
  if (!settings_.range.empty() && name == settings_.range) (void)open();
  if (window_.state() != WindowState::open) return;
  contained([&] {
    const std::lock_guard lock(mutex_);
    if (session_) session_->stream.push_range(thread_number(), now_ns(), name);
  });
}

void Auditor::pop_range() noexcept {
  bool ends = false;
  contained([&] {
    const std::lock_guard lock(mutex_);
    if (!session_) return;
    const std::string name = session_->stream.pop_range(thread_number(), now_ns());
    ends = !settings_.range.empty() && name == settings_.range;
  });
  if (ends) close();
}

bool Auditor::describe(std::string_view records) noexcept {
  bool taken = false;
  contained([&] {
    const Inside guard;  // reading a graph makes calls
    const std::lock_guard lock(mutex_);
    taken = descriptions_.take(records);
  });
  return taken;
}

void Auditor::block_taken(Address address, std::uint64_t bytes, bool fresh) noexcept {
  contained([&] {
    const std::lock_guard lock(mutex_);
    blocks_.taken(address, bytes, fresh);
  });
}

void Auditor::block_given_back(Address address) noexcept {
  contained([&] {
    const std::lock_guard lock(mutex_);
    blocks_.given_back(address);
  });
}

void Auditor::follow_blocks(bool on) noexcept {
  contained([&] {
    const std::lock_guard lock(mutex_);
    blocks_.follow(on);
  });
}

void Auditor::process_ends() noexcept {
  contained([&] {
    const std::lock_guard lock(mutex_);
    if (window_.state() == WindowState::off) return;
    end_session();
    // CUDA may be going down: nothing is called any more.
    window_.step_aside();
  });
}

void Auditor::forked() noexcept {
  new (&mutex_) std::mutex;
  // Its file is the parent's: closing it here would write the parent's bytes twice.
  [[maybe_unused]] const auto* parents = session_.release();
  new (&descriptions_) LiveDescriptions;
  new (&blocks_) LiveBlocks;
  sessions_ = 0;
  if (window_.state() == WindowState::open || window_.state() == WindowState::closing) window_.closed();
}

void Auditor::say(std::string_view code, std::string_view text) const noexcept {
  try {
    std::ofstream file(fmt::format("{}/{}.status", settings_.folder, ::getpid()), std::ios::app);
    file << code << '\t' << text << '\n';
  } catch (...) {
    return;  // nobody is left to tell
  }
}

}  // namespace refrain
