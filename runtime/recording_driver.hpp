// A driver that writes down every call made of another driver, as CUPTI would
// have seen it; so captures are audited without a CUPTI subscriber, which makes
// every graph launch dearer for good. Thread-safe when the inner driver is.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "runtime/driver.hpp"
#include "traces/timeline.hpp"

namespace refrain {

class RecordingDriver final : public Driver {
 public:
  explicit RecordingDriver(Driver& inner) : inner_(inner), start_(std::chrono::steady_clock::now()) {}

  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override;
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_.introspect(graph, out);
  }

  /// What was seen so far.
  [[nodiscard]] Timeline timeline() const;

 private:
  struct OpenCapture {
    std::uint32_t id = 0;
    std::uint64_t stream = 0;
    CaptureMode mode = CaptureMode::global;
  };
  [[nodiscard]] std::uint64_t now_ns() const;
  [[nodiscard]] std::uint32_t thread_number();
  void write(const Call& call, Status status, std::uint64_t begin_ns);
  [[nodiscard]] const OpenCapture* capture_for(const Call& call) const;

  Driver& inner_;
  std::chrono::steady_clock::time_point start_;
  mutable std::mutex mutex_;
  Timeline timeline_;
  std::vector<OpenCapture> open_;
  std::uint32_t captures_ = 0;
  std::unordered_map<std::thread::id, std::uint32_t> threads_;
};

}  // namespace refrain
