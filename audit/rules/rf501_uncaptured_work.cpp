// RF501: the capturing thread launched work on a stream that was not in the
// capture. CUDA lets it pass in silence: it runs once, at once, and is missing
// from the graph. Work on the legacy stream is rule 504's.
#include <fmt/format.h>

#include <map>

#include "audit/rules/capture_words.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

void report_stream(const Recording& recording, const CaptureWindow& capture, const std::vector<const ApiEvent*>& calls,
                   Report& report) {
  const Timeline& timeline = recording.timeline;
  const ApiEvent& first = *calls.front();
  Finding finding = new_finding("RF501", Certainty::proven);
  finding.count = calls.size();
  finding.where = capture_place(capture, first);
  finding.message = fmt::format(
      "{} call{} ({}) on stream {} ran at once while {} was being captured: the graph does not hold {}, and no "
      "replay repeats {}",
      calls.size(), calls.size() == 1 ? "" : "s", list_work(timeline, calls), first.stream,
      captured_stream(capture, "another stream"), calls.size() == 1 ? "it" : "them", calls.size() == 1 ? "it" : "them");
  if (first.target == Target::per_thread)
    finding.evidence.push_back(fmt::format("stream {} is the per-thread default stream", first.stream));
  add_empty_graph(finding, recording, capture);
  finding.fix = fmt::format(
      "launch on {0}, or fork stream {1} into the capture: record an event on {0}, let stream {1} wait for it, and "
      "join "
      "it back the same way",
      captured_stream(capture, "the capturing stream"), first.stream);
  report.add(std::move(finding), work_names(timeline, calls));
}

}  // namespace

void check_rf501(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF501", "a graph alone does not show the calls made during its capture")) return;
  for (const Recording* recording : view.timelines())
    for (const CaptureWindow& capture : whole_captures(*recording, report, "RF501")) {
      std::map<std::uint32_t, std::vector<const ApiEvent*>> streams;
      for (const ApiEvent* call : escaped_calls(capture, Escape::other_stream)) streams[call->stream].push_back(call);
      for (const auto& [stream, calls] : streams) report_stream(*recording, capture, calls, report);
    }
}

}  // namespace refrain
