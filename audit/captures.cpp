#include "audit/captures.hpp"

#include <map>

namespace refrain {
namespace {

constexpr std::int32_t kInvalidated = 901;  // cudaErrorStreamCaptureInvalidated: always a consequence
constexpr std::int32_t kImplicit = 906;     // cudaErrorStreamCaptureImplicit
constexpr std::int32_t kFirstCaptureError = 900, kLastCaptureError = 908;
constexpr std::int32_t kIllegalState = 401;  // a second BeginCapture: refused, and the capture lives on

bool breaks_capture(const ApiEvent& call) {
  if (call.api == Api::begin_capture || call.code == kIllegalState || call.code == kInvalidated) return false;
  // An elapsed-time query of a captured event, and asking whether the legacy stream captures, are refused and harmless.
  if (call.api == Api::event_elapsed_time || call.api == Api::stream_is_capturing) return false;
  if (call.api == Api::cublas_create) return call.code != 0;
  return call.code >= kFirstCaptureError && call.code <= kLastCaptureError;
}

/// Unmatched, unjoined, isolation, merge: how the capture was built is at fault, whichever thread built it.
bool is_structural(std::int32_t code) {
  constexpr std::int32_t kMerge = 902, kIsolation = 905;
  return code >= kMerge && code <= kIsolation;
}

}  // namespace

std::size_t CaptureWindow::consequences() const {
  std::size_t count = 0;
  for (const ApiEvent* call : calls)
    if (violation != nullptr && call->sequence > violation->sequence && call->code == kInvalidated) ++count;
  return count;
}

std::vector<CaptureWindow> captures_of(const Timeline& timeline) {
  std::map<std::uint32_t, CaptureWindow> windows;
  for (const ApiEvent& call : timeline.calls) {
    if (call.capture == 0) continue;
    CaptureWindow& window = windows[call.capture];
    if (window.calls.empty()) {
      window.id = call.capture;
      window.thread = call.thread;
      window.stream = call.stream;
      window.mode = call.mode;
    }
    if (call.api == Api::begin_capture && call.code == 0 && window.begin == nullptr) window.begin = &call;
    if (call.api == Api::end_capture) window.end = &call;
    if (window.violation == nullptr && breaks_capture(call)) window.violation = &call;
    window.calls.push_back(&call);
  }
  std::vector<CaptureWindow> out;
  for (auto& [id, window] : windows) out.push_back(std::move(window));
  return out;
}

ViolationKind kind_of(const CaptureWindow& window) {
  const ApiEvent& call = *window.violation;
  if (call.api == Api::end_capture || is_structural(call.code)) return ViolationKind::other;
  if (call.thread != window.thread) return ViolationKind::cross_thread;
  if (call.code == kImplicit) return ViolationKind::legacy_stream;
  if (is_sync(call.api)) return ViolationKind::sync;
  if (is_memory_call(call.api) || call.api == Api::cublas_create) return ViolationKind::allocation;
  if (call.api == Api::module_load || call.api == Api::module_unload || call.api == Api::launch_kernel_first_use)
    return ViolationKind::module_load;
  return ViolationKind::other;
}

}  // namespace refrain
