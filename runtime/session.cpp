#include "runtime/session.hpp"

#include <fmt/format.h>

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

Session::Session(Driver& inner, const StepOptions& options)
    : Runtime(inner, step_arena_bytes(valid(options))),
      step(make_step(driver, registry, arena, default_options(options))) {
  for (const Buffer& buffer : registry.all())
    if (buffer.role == Role::input) driver.bind(buffer.name, buffer.base, buffer.bytes);
  step->upload(driver);
}

std::optional<Captured> Session::capture(Recorder& on, std::string& error) {
  step->prepare(on);
  // A bare cudaMalloc kills a strict capture; only a relaxed one lets it pass in silence.
  const bool relaxed = step->options().faults.has(Fault::alloc_in_capture);
  try {
    const ProfilerRange phase(driver, phase_of(step->options()));
    CaptureScope scope(on, relaxed ? CaptureMode::relaxed : CaptureMode::global);
    step->record(on);
    std::optional<Captured> captured;
    captured.emplace(scope.finish(to_string(step->options().step), capture_info(step->options())));
    driver.add_graph(captured->handle(), captured->graph);
    return captured;
  } catch (const Error& failure) {
    if (failure.kind() != ErrorKind::driver) throw;
    error = first_violation(recording(), failure);
    return std::nullopt;
  }
}

}  // namespace refrain
