// RF101: a host sync or query by the capturing thread, which CUDA refuses and
// which kills the capture. It is the finding when it comes first; the 901s that
// follow, the one at the end included, are its consequences.
#include <fmt/format.h>

#include <algorithm>

#include "audit/rules/capture_words.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kCapturedEvent = 907;  // cudaErrorCapturedEvent

/// Captures that began inside this one, before it died: an autotuner or a warm-up that runs too late.
std::size_t nested_in(const CaptureWindow& capture, const std::vector<CaptureWindow>& all) {
  if (capture.begin == nullptr) return 0;
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const CaptureWindow& other) {
    return other.begin != nullptr && other.thread == capture.thread &&
           other.begin->sequence > capture.begin->sequence && other.begin->sequence < capture.violation->sequence;
  }));
}

void report_capture(const Timeline& timeline, const CaptureWindow& capture, std::size_t nested, Report& report) {
  const ApiEvent& call = *capture.violation;
  const std::string& detail = timeline.text(call.detail);
  Finding finding = new_finding("RF101", Certainty::proven);
  finding.where = fmt::format("capture {}, {} on stream {}", capture.id, to_string(call.api), call.stream);
  finding.message = fmt::format(
      "{} (stream {}, thread {}) came back {} ({}) during a {} capture: the host waits for work that is only being "
      "recorded, and the capture is dead from here on",
      to_string(call.api), call.stream, call.thread, call.code, code_name(call.code), to_string(capture.mode));
  if (!detail.empty()) finding.evidence.push_back(fmt::format("made in {}", detail));
  if (nested > 0)
    finding.evidence.push_back(
        fmt::format("{} other capture{} began inside this one: the region runs code that captures, "
                    "such as an autotuner, and belongs before it",
                    nested, nested == 1 ? "" : "s"));
  if (const auto later = capture.consequences(); later > 0)
    finding.evidence.push_back(
        fmt::format("{} later call{} of this capture came back 901: a consequence", later, later == 1 ? "" : "s"));
  finding.fix = call.code == kCapturedEvent
                    ? "do not ask the host about an event that was recorded inside the capture: use an event recorded "
                      "outside, or let a stream wait for it"
                    : "move the call before the capture begins or after it ends, and keep the value that it waits for "
                      "on the device";
  report.add(std::move(finding), std::vector<std::string>{to_string(call.api), detail});
}

}  // namespace

void check_rf101(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF101", "a graph alone does not show the calls made during its capture")) return;
  for (const Recording* recording : view.timelines()) {
    const auto captures = whole_captures(*recording, report, "RF101");
    for (const CaptureWindow& capture : captures)
      if (capture.violation != nullptr && kind_of(capture) == ViolationKind::sync)
        report_capture(recording->timeline, capture, nested_in(capture, captures), report);
  }
}

}  // namespace refrain
