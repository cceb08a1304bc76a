// What one run of a step owns, in the order in which it must be made: the
// recording driver, the registry, the arena, the step and its stream. `run` and `verify` are two uses of it.
#pragma once

#include "runtime/arena.hpp"
#include "runtime/capture.hpp"
#include "runtime/recording_driver.hpp"
#include "runtime/steps/step.hpp"

namespace refrain {

class Session {
 public:
  /// Checks the options, makes everything, uploads the inputs. Throws Error{usage, driver, refused}.
  Session(Driver& inner, const StepOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Step::prepare, then the capture. Nothing, with `error` set to the first violation, when the capture failed.
  [[nodiscard]] std::optional<Captured> capture(Recorder& recorder, std::string& error);
  /// Everything seen so far.
  [[nodiscard]] Recording recording() const { return driver.recording(to_string(step->options().step), registry); }

  SequenceClock clock;
  RecordingDriver driver;
  BufferRegistry registry{clock};
  Arena arena;
  std::unique_ptr<Step> step;
  Stream stream{};
};

}  // namespace refrain
