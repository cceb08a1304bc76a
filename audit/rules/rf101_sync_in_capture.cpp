// RF101: a host sync or query by the capturing thread, which CUDA refuses and
// which kills the capture. It is the finding when it comes first; the 901s that
// follow, the one at the end included, are its consequences.
#include <fmt/format.h>

#include "audit/captures.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kCapturedEvent = 907;  // cudaErrorCapturedEvent

void report_capture(const Timeline& timeline, const CaptureWindow& capture, Report& report) {
  const ApiEvent& call = *capture.violation;
  const std::string& detail = timeline.text(call.detail);
  Finding finding = new_finding("RF101", Certainty::proven);
  finding.where = fmt::format("capture {}, {} on stream {}", capture.id, to_string(call.api), call.stream);
  finding.message = fmt::format(
      "{} (stream {}, thread {}) came back {} ({}) during a {} capture: the host waits for work that is only being "
      "recorded, and the capture is dead from here on",
      to_string(call.api), call.stream, call.thread, call.code, code_name(call.code), to_string(capture.mode));
  if (!detail.empty()) finding.evidence.push_back(fmt::format("made in {}", detail));
  if (const auto later = capture.consequences(); later > 0)
    finding.evidence.push_back(fmt::format("{} later call{} of this capture came back 901: a consequence", later,
                                           later == 1 ? "" : "s"));
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
  for (const Recording* recording : view.timelines())
    for (const CaptureWindow& capture : captures_of(recording->timeline))
      if (capture.violation != nullptr && kind_of(capture) == ViolationKind::sync)
        report_capture(recording->timeline, capture, report);
}

}  // namespace refrain
