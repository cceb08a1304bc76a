// One capture of a step, recorded and audited by itself: the graph, or the first
// violation that stands against it. The recording begins with the step's preparation and
// ends with the capture, so it costs nothing afterwards. A graph that names memory which
// its key leaves out is not admitted either: the key would not tell when it went stale.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/capture.hpp"
#include "runtime/recording_driver.hpp"
#include "runtime/step_key.hpp"

namespace refrain {

/// How the step of a key is recorded; both run on the recorder's stream. Errors of the driver are the capture's; any
/// other exception goes on to the caller.
struct StepRecorder {
  /// Eager, before each capture of the key and before its first eager run: fills workspaces, declares what holds when a
  /// replay begins. Harmless when it runs again. May be empty.
  std::function<void(Recorder&, const StepKey&)> prepare;
  /// The step itself.
  std::function<void(Recorder&, const StepKey&)> record;
};

/// What graphs are captured with. All of it outlives them; `clock` is the registry's; `driver` is no RecordingDriver
/// that is paused, for no capture may begin in that.
struct CaptureBench {
  Driver& driver;
  SequenceClock& clock;
  BufferRegistry& registry;
  Arena& arena;
  Stream stream{};
};

class JudgedCapture {
 public:
  /// Captures and audits. Throws what the step throws beside Error{driver}; then no capture is open.
  JudgedCapture(const CaptureBench& bench, const StepRecorder& steps, const StepKey& key, CaptureMode mode);
  JudgedCapture(const JudgedCapture&) = delete;
  JudgedCapture& operator=(const JudgedCapture&) = delete;

  /// Null when it is not admitted.
  [[nodiscard]] const Captured* admitted() const noexcept { return captured_ ? &*captured_ : nullptr; }
  /// Why not: the call that broke the capture, or the audit's first error. Empty when it is.
  [[nodiscard]] const std::string& violation() const noexcept { return violation_; }
  /// Whether StepRecorder::prepare went through.
  [[nodiscard]] bool prepared() const noexcept { return prepared_; }

 private:
  void capture(const StepRecorder& steps, const StepKey& key, CaptureMode mode);
  void judge(const CaptureBench& bench, const StepKey& key);

  RecordingDriver driver_;
  Recorder recorder_;
  std::optional<Captured> captured_;
  std::string violation_;
  bool prepared_ = false;
};

}  // namespace refrain
