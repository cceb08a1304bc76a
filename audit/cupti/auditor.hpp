// The auditor inside a process: attaches to CUPTI when a window opens, turns its
// callbacks into a recording, and steps aside when the window closes. Nothing that
// fails in here leaves here: it is counted, and the recording says how often. It
// never changes what the program does. One for each process, made by injection.cpp.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/cupti/call_stream.hpp"
#include "audit/cupti/cuda_live_driver.hpp"
#include "audit/cupti/cupti_calls.hpp"
#include "audit/cupti/decode.hpp"
#include "audit/cupti/live_blocks.hpp"
#include "audit/cupti/live_descriptions.hpp"
#include "audit/cupti/window.hpp"
#include "audit/cupti/writing_sink.hpp"

namespace refrain {

class Auditor {
 public:
  explicit Auditor(const LiveSettings& settings);

  /// Begins to listen; false when it listens already, or cannot. Any thread, not inside a callback.
  bool open() noexcept;
  /// Ends the window and returns once the recording is whole.
  void close() noexcept;
  /// Asks for a window to open or close; of a watcher thread, after a signal.
  void toggle() noexcept;

  void push_range(std::string_view name) noexcept;
  void pop_range() noexcept;

  /// What the program says of itself; false where some of it was refused.
  bool describe(std::string_view records) noexcept;
  /// Of a caching allocator, by a hook in it.
  void block_taken(Address address, std::uint64_t bytes, bool fresh) noexcept;
  void block_given_back(Address address) noexcept;
  void follow_blocks(bool on) noexcept;
  /// A window is open.
  [[nodiscard]] bool listens() const noexcept { return window_.state() == WindowState::open; }

  /// The process ends: what there is becomes a whole recording.
  void process_ends() noexcept;
  /// In the child of a fork: the parent's recording is not its own, and nothing is attached.
  void forked() noexcept;

  [[nodiscard]] const LiveSettings& settings() const noexcept { return settings_; }
  /// Of the last window that closed; empty when there is none.
  [[nodiscard]] const char* recording() const noexcept { return recording_.c_str(); }

 private:
  struct Watched {
    const WatchedCall* call = nullptr;
    ApiName name;
    bool per_thread = false;
  };
  struct Session {
    Session(std::string path, const RecordingHeader& header, const CallStreamOptions& options);
    CudaLiveDriver driver;
    WritingSink sink;
    CallStream stream;
  };

  static void CUPTIAPI callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);
  void take(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& data);
  void add(const Watched& watched, CUpti_CallbackDomain domain, const CUpti_CallbackData& data);
  [[nodiscard]] LiveCall call_of(const Watched& watched, CUpti_CallbackDomain domain,
                                 const CUpti_CallbackData& data) const;
  bool attach();
  void enable();
  void detach() noexcept;
  bool begin_session();
  void end_session();
  [[nodiscard]] std::vector<EvidenceLimit> limits();
  void say(std::string_view code, std::string_view text) const noexcept;
  template <class Work>
  void contained(Work&& work) noexcept;

  const LiveSettings settings_;
  Window window_;
  std::optional<CuptiCalls> cupti_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::vector<Watched> runtime_, driver_;  // by callback id

  std::mutex mutex_;  // guards the session and what follows
  std::unique_ptr<Session> session_;
  LiveDescriptions descriptions_;  // of the process, over all its windows
  LiveBlocks blocks_;              // so too
  std::string recording_;
  std::uint64_t opened_ns_ = 0;
  std::uint32_t sessions_ = 0;
  bool detaching_ = false;
  std::atomic<std::uint64_t> failures_{0};
};

}  // namespace refrain
