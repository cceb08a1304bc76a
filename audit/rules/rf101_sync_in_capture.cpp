// RF101: a host sync or query while a stream was being captured, refused by CUDA
// with 900 or 907, which kills the capture. The first of a capture is the finding;
// the 901s that follow, the one at the end included, are its consequences.
#include <fmt/format.h>

#include <set>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kUnsupported = 900, kInvalidated = 901, kCapturedEvent = 907;  // CUDA runtime error numbers

bool is_violation(const ApiEvent& call) {
  return call.capture && is_sync(call.api) && (call.code == kUnsupported || call.code == kCapturedEvent);
}

std::size_t consequences(const Timeline& timeline, const ApiEvent& first) {
  std::size_t count = 0;
  for (const ApiEvent& call : timeline.calls)
    if (call.capture == first.capture && call.sequence > first.sequence && call.code == kInvalidated) ++count;
  return count;
}

void report_call(const Timeline& timeline, const ApiEvent& call, Report& report) {
  Finding finding = new_finding("RF101", Certainty::proven);
  finding.where = fmt::format("capture {}, {} on stream {}", *call.capture, to_string(call.api), call.stream);
  finding.message = fmt::format(
      "{} on {} (stream {}, thread {}) came back {} ({}) during a {} capture: the host waits for work that is only "
      "being "
      "recorded, and the capture is dead from here on",
      to_string(call.api), to_string(call.target), call.stream, call.thread, call.code, code_name(call.code),
      to_string(call.mode));
  if (!call.detail.empty()) finding.evidence.push_back(fmt::format("made in {}", call.detail));
  if (const auto later = consequences(timeline, call); later > 0)
    finding.evidence.push_back(
        fmt::format("{} later call{} of this capture came back 901: a consequence, not a fault of its own", later,
                    later == 1 ? "" : "s"));
  finding.fix =
      call.code == kCapturedEvent
          ? "do not ask the host about an event that was recorded inside the capture: use an event recorded "
            "outside, or let a stream wait for it"
          : "move the call before the capture begins or after it ends, and keep the value that it waits for on "
            "the device";
  report.add(std::move(finding), std::vector<std::string>{to_string(call.api), to_string(call.target), call.detail});
}

}  // namespace

void check_rf101(const SubjectView& view, Report& report) {
  const Timeline& timeline = view.subject().timeline;
  if (timeline.calls.empty()) {
    report.not_checked("RF101", "a graph alone does not show the calls made during its capture");
    return;
  }
  std::set<std::uint32_t> told;
  for (const ApiEvent& call : timeline.calls)
    if (is_violation(call) && told.insert(*call.capture).second) report_call(timeline, call, report);
}

}  // namespace refrain
