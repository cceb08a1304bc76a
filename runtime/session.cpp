#include "runtime/session.hpp"

#include <span>

#include "runtime/first_violation.hpp"
#include "runtime/steps/key_of.hpp"

namespace refrain {
namespace {

/// With the step's defaults, checked.
StepOptions valid(const StepOptions& given) {
  const StepOptions options = default_options(given);
  validate(options);
  return options;
}

const char* phase_of(const StepOptions& o) {
  return to_string(refrain::phase_of(o.step));
}

CaptureInfo capture_info(const StepOptions& o) {
  CaptureInfo info;
  info.phase = phase_of(o);
  info.bucket = bucket_key(o);
  return info;
}

}  // namespace

std::unique_ptr<Step> place_step(Runtime& runtime, const StepOptions& options) {
  const std::size_t before = runtime.registry.all().size();
  auto step = make_step(runtime.driver, runtime.registry, runtime.arena, valid(options));
  for (const Buffer& buffer : std::span(runtime.registry.all()).subspan(before))
    if (buffer.role == Role::input) runtime.driver.bind(buffer.name, buffer.base, buffer.bytes);
  step->upload(runtime.driver);
  return step;
}

std::optional<Captured> capture_step(Runtime& runtime, const Step& step, Recorder& on, std::string& error) {
  step.prepare(on);
  // A bare cudaMalloc kills a strict capture; only a relaxed one lets it pass in silence.
  const bool relaxed = step.options().faults.has(Fault::alloc_in_capture);
  const std::string name = to_string(step.options().step);
  try {
    const ProfilerRange phase(runtime.driver, phase_of(step.options()));
    CaptureScope scope(on, relaxed ? CaptureMode::relaxed : CaptureMode::global);
    step.record(on);
    std::optional<Captured> captured;
    captured.emplace(scope.finish(name, capture_info(step.options())));
    runtime.driver.add_graph(captured->handle(), captured->graph);
    return captured;
  } catch (const Error& failure) {
    if (failure.kind() != ErrorKind::driver) throw;
    error = first_violation(runtime.recording(name), failure);
    return std::nullopt;
  }
}

RowCounts row_counts(const StepOptions& options) {
  return {static_cast<std::uint32_t>(options.bucket_rows()), static_cast<std::uint32_t>(options.rows)};
}

Session::Session(Driver& inner, const StepOptions& options)
    : Runtime(inner, step_arena_bytes(valid(options))), step(place_step(*this, options)) {}

}  // namespace refrain
