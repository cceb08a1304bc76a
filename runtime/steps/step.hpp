// One serving step as `run`, `verify` and the benches see it: memory of its own,
// work that is recorded once and runs eagerly or is captured, inputs, outputs, what
// must not matter to them, and an fp64 reference. Each family of steps is one class
// behind this; make_step is the one place that knows them all.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "runtime/arena.hpp"
#include "runtime/output.hpp"
#include "runtime/recorder.hpp"
#include "runtime/recording_driver.hpp"
#include "runtime/steps/fills.hpp"
#include "runtime/steps/options.hpp"

namespace refrain {

class Step {
 public:
  explicit Step(const StepOptions& options) : options_(options) {}
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;
  virtual ~Step() = default;

  [[nodiscard]] const StepOptions& options() const noexcept { return options_; }

  /// Writes all inputs and the pool from the host, blocking. Throws Error{driver}.
  virtual void upload(Driver& driver) const = 0;
  /// Eager, once, before any capture: fills workspaces on the device, declares what holds when a replay begins, and
  /// runs what faults move out of the graph. Throws Error{driver}.
  virtual void prepare(Recorder& recorder) const = 0;
  /// The step itself.
  virtual void record(Recorder& recorder) const = 0;
  /// What some faults do between a capture and its first replay.
  virtual void break_after_capture(RecordingDriver&) {}

  [[nodiscard]] virtual std::vector<OutputTensor> outputs() const = 0;
  /// The axes live no longer than the step.
  [[nodiscard]] virtual std::vector<PoisonAxis> poison_axes() const = 0;
  /// Poison::null_block and Poison::random_page0, blocking. Throws Error{driver}.
  virtual void poison_page0(Driver& driver, Poison poison) const = 0;

  /// What the real rows of the first output should be, in fp64, by an oracle that shares no code with the step. After a
  /// replay: the step may have appended to the pool. Throws Error{driver}.
  [[nodiscard]] virtual std::vector<double> reference(Driver& driver) const = 0;
  /// The same rows by another route of ours, run eagerly in buffers of its own; nothing where there is none.
  [[nodiscard]] virtual std::optional<Output> other_route(Recorder&) const { return std::nullopt; }

 private:
  StepOptions options_;
};

/// Throws Error{refused} when the arena is too small or the step is not admitted.
[[nodiscard]] std::unique_ptr<Step> make_step(Driver& driver, BufferRegistry& registry, Arena& arena,
                                              const StepOptions& options);
/// Bytes of arena that a step of these options takes, the comparison route included.
[[nodiscard]] std::uint64_t step_arena_bytes(const StepOptions& options);

/// Before a replay, blocking. `all` is every axis with its first fill. Throws Error{driver}.
void apply_poison(Driver& driver, const Step& step, Poison poison);

}  // namespace refrain
