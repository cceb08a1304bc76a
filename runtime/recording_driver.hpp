// A driver that writes down every call made of another driver, as CUPTI would
// have seen it; so captures are audited without a CUPTI subscriber, which makes
// every graph launch dearer for good. It follows captures and their forks by the
// calls alone. What is added to it and no call shows it also tells to an auditor that
// is in the process. Thread-safe when the inner driver is. It grows with every call
// until it is paused.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "runtime/auditor_link.hpp"
#include "runtime/buffer_registry.hpp"
#include "runtime/driver.hpp"
#include "runtime/sequence_clock.hpp"
#include "traces/recording.hpp"

namespace refrain {

class RecordingDriver final : public Driver {
 public:
  RecordingDriver(Driver& inner, SequenceClock& clock)
      : inner_(inner), clock_(clock), start_(std::chrono::steady_clock::now()) {}

  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override;
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_.introspect(graph, out);
  }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }
  void begin_range(const char* name, std::uint64_t payload) noexcept override { inner_.begin_range(name, payload); }
  void end_range() noexcept override { inner_.end_range(); }

  /// Ties the handle that end_capture gave to `graph`, which the recording will hold.
  void add_graph(GraphHandle handle, Graph graph);
  /// Memory that the registry does not know, as PointerWatch finds it: gone, or there in place of something that is.
  void add_outside_death(Buffer buffer);
  void add_outside_birth(Buffer buffer);
  /// From now on the input `name` stands at `address`: what the engine's own table of inputs says.
  void bind(std::string_view name, Address address, std::uint64_t bytes);
  /// `check.sequence` is set here; the names are interned.
  void add_check(ReplayCheck check, std::string_view graph, std::string_view axis, std::string_view fill);

  /// From here to resume(), calls and ranges pass unrecorded, so that any number of them takes no memory. What is not
  /// recorded is unknown to an audit, and the recording says that it is not complete. No capture may be open at either,
  /// nor begin in between.
  void pause();
  void resume();

  /// A span of this thread, from construction to destruction; a step is one that is on the hot path. A profiler sees it
  /// as a range `step` with the real rows as its payload and an empty range `bucket` at its front, recorded here or
  /// not.
  class Range {
   public:
    Range(RecordingDriver& driver, std::string_view name, bool step, const RowCounts& rows);
    ~Range();
    Range(const Range&) = delete;
    Range& operator=(const Range&) = delete;

   private:
    RecordingDriver& driver_;
    ProfilerRange shown_;
    RangeEvent event_;
    bool recorded_;
  };
  [[nodiscard]] Range step(std::string_view name, const RowCounts& rows = {}) { return {*this, name, true, rows}; }

  /// Everything seen so far, with the buffers of `registry`.
  [[nodiscard]] Recording recording(std::string name, const BufferRegistry& registry) const;

 private:
  struct OpenCapture {
    std::uint32_t id = 0;
    std::uint64_t stream = 0;
    CaptureMode mode = CaptureMode::global;
  };
  [[nodiscard]] std::uint64_t now_ns() const;
  [[nodiscard]] std::uint32_t thread_number();
  [[nodiscard]] std::uint32_t stream_number(Stream stream);
  void write(const Call& call, Status status, std::uint64_t sequence, std::uint64_t begin_ns);
  void follow(const Call& call, Status status);
  [[nodiscard]] Target target_of(const Call& call) const;
  [[nodiscard]] const OpenCapture* capture_for(const Call& call) const;

  Driver& inner_;
  SequenceClock& clock_;
  const AuditorLink auditor_;
  std::chrono::steady_clock::time_point start_;
  std::atomic<bool> paused_{false};
  mutable std::mutex mutex_;
  Timeline timeline_;
  Interner names_{timeline_};
  std::vector<Graph> graphs_;
  std::vector<Buffer> outside_;  // buffers of the timeline beside the registry's
  std::vector<OpenCapture> open_;
  std::unordered_map<std::uint64_t, std::uint32_t> streams_in_capture_, events_in_capture_;  // handle -> capture id
  std::uint32_t captures_ = 0;
  std::unordered_map<std::thread::id, std::uint32_t> threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> streams_{{0, 0}};
};

}  // namespace refrain
