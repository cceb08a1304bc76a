#include "runtime/judged_capture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/audit.hpp"
#include "runtime/first_violation.hpp"

namespace refrain {
namespace {

/// A buffer of the runtime's that the graph names and the key does not; null when there is none.
const Buffer* unnamed_buffer(const Graph& graph, const StepKey& key) {
  for (const Buffer& buffer : graph.buffers)
    if (buffer.allocation != 0 && !is_driver_allocation(buffer.allocation) &&
        std::find(key.leases.begin(), key.leases.end(), buffer.allocation) == key.leases.end())
      return &buffer;
  return nullptr;
}

}  // namespace

JudgedCapture::JudgedCapture(const CaptureBench& bench, const StepRecorder& steps, const StepKey& key, CaptureMode mode)
    : driver_(bench.driver, bench.clock), recorder_(driver_, bench.registry, bench.stream) {
  try {
    if (steps.prepare) steps.prepare(recorder_, key);
    prepared_ = true;
    capture(steps, key, mode);
  } catch (const Error& failure) {
    if (failure.kind() != ErrorKind::driver) throw;
    violation_ = prepared_ ? first_violation(driver_.recording(bucket_name(key), bench.registry), failure)
                           : fmt::format("before the capture: {}", failure.what());
    return;
  }
  judge(bench, key);
}

void JudgedCapture::capture(const StepRecorder& steps, const StepKey& key, CaptureMode mode) {
  const ProfilerRange phase(driver_, to_string(key.phase));
  const ProfilerRange bucket(driver_, "bucket", static_cast<std::uint64_t>(key.rows));
  CaptureScope scope(recorder_, mode);
  steps.record(recorder_, key);
  CaptureInfo info;
  info.phase = to_string(key.phase);
  info.bucket = to_string(key);
  captured_.emplace(scope.finish(bucket_name(key), std::move(info)));
}

void JudgedCapture::judge(const CaptureBench& bench, const StepKey& key) {
  driver_.add_graph(captured_->handle(), captured_->graph);
  const Subject subject{{driver_.recording(bucket_name(key), bench.registry)}};
  violation_ = first_violation(audit(subject));
  if (const Buffer* buffer = unnamed_buffer(captured_->graph, key); buffer != nullptr && violation_.empty())
    violation_ =
        fmt::format("the graph names {} (allocation {}), which its key does not", buffer->name, buffer->allocation);
  if (!violation_.empty()) captured_.reset();
}

}  // namespace refrain
