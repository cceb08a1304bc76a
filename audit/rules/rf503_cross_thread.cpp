// RF503: a call of another thread killed the capture. In global mode nearly every
// unsafe call of every thread does; in thread_local mode a few still do, and of
// these no mode helps.
#include <fmt/format.h>

#include "audit/rules/capture_words.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

/// The same call of another thread would pass if the capture were thread_local.
bool thread_local_helps(const ApiEvent& call, CaptureMode mode) {
  if (mode != CaptureMode::global) return false;
  const CaptureRule* rule = find_capture_rule(call.api, call.target, false);
  if (rule == nullptr) return call.target != Target::capturing && call.target != Target::captured_event;
  const Effect effect = rule->other_thread[static_cast<std::size_t>(CaptureMode::thread_local_)].effect;
  return effect != Effect::invalidated;
}

std::string fix_for(const CaptureWindow& capture) {
  const ApiEvent& call = *capture.violation;
  if (thread_local_helps(call, capture.mode))
    return fmt::format(
        "capture in thread_local mode, so that thread {} may go on; not in relaxed mode, which would hide the "
        "capturing thread's own faults as well",
        call.thread);
  const char* instead = call.api == Api::device_synchronize
                            ? "let it wait for a stream or an event of its own instead of the device"
                            : "let it use a stream and events of its own";
  return fmt::format("no capture mode lets {} pass: {}, or hold it back with a lock until the capture has ended",
                     to_string(call.api), instead);
}

void report_capture(const Timeline& timeline, const CaptureWindow& capture, Report& report) {
  const ApiEvent& call = *capture.violation;
  Finding finding = new_finding("RF503", Certainty::proven);
  finding.where = capture_place(capture, call);
  finding.message = fmt::format(
      "thread {} called {} while thread {} was capturing stream {} in {} mode: the call came back {} ({}) and the "
      "capture is dead",
      call.thread, to_string(call.api), capture.thread, capture.stream, to_string(capture.mode), call.code,
      code_name(call.code));
  add_consequences(finding, timeline, capture);
  finding.fix = fix_for(capture);
  report.add(std::move(finding), std::vector<std::string>{to_string(call.api), timeline.text(call.detail)});
}

}  // namespace

void check_rf503(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF503", "a graph alone does not show the calls made during its capture")) return;
  for (const Recording* recording : view.timelines())
    for (const CaptureWindow& capture : whole_captures(*recording, report, "RF503"))
      if (capture.violation != nullptr && kind_of(capture) == ViolationKind::cross_thread)
        report_capture(recording->timeline, capture, report);
}

}  // namespace refrain
