// What one run of a built-in step owns: a runtime and the step in its arena. `run` and `verify` are two uses of it.
#pragma once

#include "runtime/runtime.hpp"
#include "runtime/steps/step.hpp"

namespace refrain {

class Session : public Runtime {
 public:
  /// Checks the options, makes everything, uploads the inputs. Throws Error{usage, driver, refused}.
  Session(Driver& inner, const StepOptions& options);

  /// Step::prepare, then the capture. Nothing, with `error` set to the first violation, when the capture failed.
  [[nodiscard]] std::optional<Captured> capture(Recorder& on, std::string& error);
  /// Everything seen so far.
  [[nodiscard]] Recording recording() const { return Runtime::recording(to_string(step->options().step)); }

  std::unique_ptr<Step> step;
};

}  // namespace refrain
