#include "runtime/session.hpp"

#include <fmt/format.h>

#include "audit/captures.hpp"
#include "runtime/steps/step.hpp"

namespace refrain {
namespace {

const StepOptions& valid(const StepOptions& options) {
  validate(options);
  return options;
}

const char* phase_of(const StepOptions& o) {
  return o.step == StepKind::grouped ? "prefill" : "decode";
}

CaptureInfo capture_info(const StepOptions& o) {
  CaptureInfo info;
  info.phase = phase_of(o);
  info.bucket = fmt::format("rows={} page_size={} kv={}", o.bucket_rows(), o.page_size, to_string(o.kv));
  return info;
}

Stream new_stream(Driver& driver) {
  Stream stream;
  check(driver.create_stream(stream), "cudaStreamCreateWithFlags");
  return stream;
}

/// The call that broke the capture, when another call than the one that threw did.
std::string first_violation(const Recording& recording, const Error& failure) {
  const std::vector<CaptureWindow> captures = captures_of(recording.timeline);
  if (captures.empty() || captures.back().violation == nullptr) return failure.what();
  const ApiEvent& call = *captures.back().violation;
  return fmt::format("{} on thread {}: {}", to_string(call.api), call.thread,
                     to_string(static_cast<Status>(call.code)));
}

}  // namespace

Session::Session(Driver& inner, const StepOptions& options)
    : driver(inner, clock),
      arena(driver, registry, StepBuffers::arena_bytes(valid(options))),
      buffers(driver, registry, arena, options),
      inputs(make_inputs(options, buffers.pages)) {
  for (const Buffer& buffer : registry.all())
    if (buffer.role == Role::input) driver.bind(buffer.name, buffer.base, buffer.bytes);
  buffers.upload(driver, inputs);
  stream = new_stream(driver);
  try {
    buffers.side = new_stream(driver);
  } catch (...) {
    (void)driver.destroy_stream(stream);
    throw;
  }
}

Session::~Session() {
  (void)driver.destroy_stream(buffers.side);
  (void)driver.destroy_stream(stream);
}

std::optional<Captured> Session::capture(Recorder& recorder, std::string& error) {
  prepare_step(recorder, buffers);
  // A bare cudaMalloc kills a strict capture; only a relaxed one lets it pass in silence.
  const bool relaxed = buffers.options.faults.has(Fault::alloc_in_capture);
  try {
    const ProfilerRange phase(driver, phase_of(buffers.options));
    CaptureScope scope(recorder, relaxed ? CaptureMode::relaxed : CaptureMode::global);
    record_step(recorder, buffers);
    std::optional<Captured> captured;
    captured.emplace(scope.finish(to_string(buffers.options.step), capture_info(buffers.options)));
    driver.add_graph(captured->handle(), captured->graph);
    return captured;
  } catch (const Error& failure) {
    if (failure.kind() != ErrorKind::driver) throw;
    error = first_violation(recording(), failure);
    return std::nullopt;
  }
}

}  // namespace refrain
