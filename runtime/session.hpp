// What one run of a built-in step owns: a runtime and the step in its arena. `run` and `verify` are two uses of it.
#pragma once

#include "runtime/runtime.hpp"
#include "runtime/steps/step.hpp"

namespace refrain {

/// Makes the step in the runtime's arena, says where its inputs are, and uploads them. Throws Error{usage, driver,
/// refused}.
[[nodiscard]] std::unique_ptr<Step> place_step(Runtime& runtime, const StepOptions& options);
/// Step::prepare, then the capture, which joins the recording. Nothing, with `error` set to the first violation, when
/// the capture failed.
[[nodiscard]] std::optional<Captured> capture_step(Runtime& runtime, const Step& step, Recorder& on,
                                                   std::string& error);

/// The rows of a replay of it, for RecordingDriver::step.
[[nodiscard]] RowCounts row_counts(const StepOptions& options);

class Session : public Runtime {
 public:
  /// Checks the options, makes everything, uploads the inputs. Throws Error{usage, driver, refused}.
  Session(Driver& inner, const StepOptions& options);

  /// capture_step() of its own step.
  [[nodiscard]] std::optional<Captured> capture(Recorder& on, std::string& error) {
    return capture_step(*this, *step, on, error);
  }
  /// Everything seen so far.
  [[nodiscard]] Recording recording() const { return Runtime::recording(to_string(step->options().step)); }

  std::unique_ptr<Step> step;
};

}  // namespace refrain
