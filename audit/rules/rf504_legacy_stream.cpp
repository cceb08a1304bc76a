// RF504: work on the legacy stream during a capture. Beside a non-blocking
// capturing stream it runs at once, in silence, outside the graph; beside a
// blocking one it comes back 906 and kills the capture.
#include <fmt/format.h>

#include "audit/rules/capture_words.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

void report_escaped(const Recording& recording, const CaptureWindow& capture, const std::vector<const ApiEvent*>& calls,
                    Report& report) {
  const Timeline& timeline = recording.timeline;
  const bool one = calls.size() == 1;
  Finding finding = new_finding("RF504", Certainty::proven);
  finding.count = calls.size();
  finding.where = capture_place(capture, *calls.front());
  finding.message = fmt::format(
      "{} call{} ({}) on the legacy stream ran at once while {} was being captured: the graph does not hold {}, "
      "and no replay repeats {}",
      calls.size(), one ? "" : "s", list_work(timeline, calls), captured_stream(capture, "another stream"),
      one ? "it" : "them", one ? "it" : "them");
  add_empty_graph(finding, recording, capture);
  finding.fix = fmt::format(
      "pass the capturing stream ({}) to the launch: a library must take the caller's current stream, not stream 0",
      captured_stream(capture, "it is not named in the trace"));
  report.add(std::move(finding), work_names(timeline, calls));
}

void report_refused(const Timeline& timeline, const CaptureWindow& capture, Report& report) {
  const ApiEvent& call = *capture.violation;
  Finding finding = new_finding("RF504", Certainty::proven);
  finding.where = capture_place(capture, call);
  finding.message = fmt::format(
      "{}: stream {} is a blocking stream, which the legacy stream waits for, so that the call would depend on work "
      "that is only being recorded; the capture is dead from here on",
      call_words(call), capture.stream);
  add_consequences(finding, timeline, capture);
  finding.fix = fmt::format(
      "make stream {} with cudaStreamNonBlocking, and move the call onto it: beside a non-blocking stream it would run "
      "at once and be missing from the graph",
      capture.stream);
  report.add(std::move(finding), std::vector<std::string>{to_string(call.api), timeline.text(call.detail)});
}

}  // namespace

void check_rf504(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF504", "a graph alone does not show the calls made during its capture")) return;
  for (const Recording* recording : view.timelines())
    for (const CaptureWindow& capture : whole_captures(*recording, report, "RF504")) {
      const auto calls = escaped_calls(capture, Escape::legacy_stream);
      if (!calls.empty()) report_escaped(*recording, capture, calls, report);
      if (capture.violation != nullptr && kind_of(capture) == ViolationKind::legacy_stream)
        report_refused(recording->timeline, capture, report);
    }
}

}  // namespace refrain
