// How the host driver looks up the capture rules: which row a call is, seen
// from each capture in progress, and which cell of it.
#include <algorithm>

#include "runtime/host/host_driver.hpp"

namespace refrain {
namespace {

bool names_event(Api api) {
  switch (api) {
    case Api::event_query:
    case Api::event_synchronize:
    case Api::event_elapsed_time:
    case Api::stream_wait_event:
    case Api::stream_wait_event_external: return true;
    default: return false;
  }
}

bool names_stream(Api api) {
  if (is_async_copy(api)) return true;
  switch (api) {
    case Api::begin_capture:
    case Api::end_capture:
    case Api::stream_is_capturing:
    case Api::stream_get_capture_info:
    case Api::stream_synchronize:
    case Api::stream_query:
    case Api::event_record:
    case Api::event_record_external:
    case Api::stream_wait_event:
    case Api::stream_wait_event_external:
    case Api::mem_prefetch_async:
    case Api::stream_attach_mem_async:
    case Api::stream_add_callback:
    case Api::launch_host_func:
    case Api::launch_kernel:
    case Api::launch_kernel_first_use:
    case Api::graph_launch:
    case Api::graph_upload:
    case Api::malloc_async:
    case Api::free_async:
    case Api::stream_destroy: return true;
    default: return false;
  }
}

int weight(Effect effect) {
  switch (effect) {
    case Effect::invalidated: return 3;
    case Effect::refused: return 2;
    case Effect::captured: return 1;
    default: return 0;
  }
}

}  // namespace

Target HostDriver::target_of(const Call& call, const HostCapture& capture, std::uint64_t id) const {
  if (call.target != Target::none) return call.target;
  if (names_event(call.api) && (!names_stream(call.api) || capture.holds(call.stream))) {
    const auto event = events_.find(call.event.id);
    if (event == events_.end() || event->second.capture == 0) return Target::outside_event;
    return event->second.capture == id ? Target::captured_event : Target::foreign_event;
  }
  if (!names_stream(call.api)) return Target::none;
  if (call.stream == capture.origin) return Target::capturing;
  if (capture.holds(call.stream)) return Target::forked;
  return call.stream.id == 0 ? Target::legacy : Target::other;
}

Answer HostDriver::answer_of(const CaptureRule& rule, const HostCapture& capture, std::uint32_t thread) const {
  const bool same = capture.thread == thread;
  const auto found = thread_modes_.find(thread);
  const CaptureMode own = found == thread_modes_.end() ? CaptureMode::global : found->second;
  // A thread that exchanged its mode to relaxed is let through; thread_local looks away from other threads' captures.
  CaptureMode column = capture.mode;
  if (own == CaptureMode::relaxed || (own == CaptureMode::thread_local_ && !same)) column = CaptureMode::relaxed;
  const auto& cells = same ? rule.same_thread : rule.other_thread;
  return cells[static_cast<std::size_t>(column)];
}

std::optional<HostDriver::Verdict> HostDriver::judge(const Call& call, std::uint32_t thread) const {
  std::optional<Verdict> worst;
  for (const auto& [id, capture] : captures_) {
    const bool inside = names_stream(call.api) && capture.holds(call.stream);
    Target target = target_of(call, capture, id);
    const CaptureRule* rule = find_capture_rule(call.api, target, capture.blocking);
    if (rule == nullptr && target == Target::forked)
      rule = find_capture_rule(call.api, Target::capturing, capture.blocking);
    if (rule == nullptr) continue;
    const Answer answer = answer_of(*rule, capture, thread);
    if (answer.effect == Effect::captured && !inside && call.target == Target::none) continue;
    if (!worst || weight(answer.effect) > weight(worst->answer.effect)) worst = Verdict{answer, id};
  }
  return worst;
}

std::uint64_t HostDriver::capture_of(Stream stream) const {
  const auto found =
      std::find_if(captures_.begin(), captures_.end(), [&](const auto& entry) { return entry.second.holds(stream); });
  return found == captures_.end() ? 0 : found->first;
}

}  // namespace refrain
