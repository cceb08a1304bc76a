// RF502: a blocking copy or memset by the capturing thread. It goes to the legacy
// stream, works at once and leaves no node: what it wrote is what it wrote then.
#include <fmt/format.h>

#include <map>

#include "audit/rules/capture_words.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

std::string fix_for(const ApiEvent& call, const std::string& stream) {
  switch (call.api) {
    case Api::memcpy_h2d:
      return fmt::format(
          "copy before the capture begins, or from pinned memory that lives as long as the graph with "
          "cudaMemcpyAsync on {}",
          stream);
    case Api::memcpy_d2h:
      return "read the value back after the replay: during the capture the graph has computed nothing";
    case Api::memcpy_to_symbol: return fmt::format("use cudaMemcpyToSymbolAsync on {}", stream);
    case Api::memset: return fmt::format("use cudaMemsetAsync on {}", stream);
    default: return fmt::format("use cudaMemcpyAsync on {}", stream);
  }
}

void report_copies(const Recording& recording, const CaptureWindow& capture, const std::vector<const ApiEvent*>& calls,
                   Report& report) {
  const ApiEvent& first = *calls.front();
  std::uint64_t bytes = 0;
  for (const ApiEvent* call : calls) bytes += call->bytes;
  const bool one = calls.size() == 1;
  Finding finding = new_finding("RF502", Certainty::proven);
  finding.count = calls.size();
  finding.where = fmt::format("capture {}, {}", capture.id, to_string(first.api));
  finding.message = fmt::format(
      "{} {}{} ({} bytes) by thread {} ran at once while {} was being captured: the graph has no node for {}, "
      "and no replay repeats {}",
      calls.size(), to_string(first.api), one ? "" : " calls", bytes, capture.thread,
      captured_stream(capture, "another stream"), one ? "it" : "them", one ? "it" : "them");
  std::vector<std::string> names = {to_string(first.api)};
  for (const ApiEvent* call : calls)
    if (const std::string& detail = recording.timeline.text(call->detail); !detail.empty()) names.push_back(detail);
  if (names.size() > 1)
    finding.evidence.push_back("made in " + list_names(std::vector<std::string>(names.begin() + 1, names.end())));
  add_empty_graph(finding, recording, capture);
  finding.fix = fix_for(first, captured_stream(capture, "the capturing stream"));
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf502(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF502", "a graph alone does not show the calls made during its capture")) return;
  for (const Recording* recording : view.timelines())
    for (const CaptureWindow& capture : whole_captures(*recording, report, "RF502")) {
      std::map<Api, std::vector<const ApiEvent*>> kinds;
      for (const ApiEvent* call : escaped_calls(capture, Escape::blocking_copy)) kinds[call->api].push_back(call);
      for (const auto& [api, calls] : kinds) report_copies(*recording, capture, calls, report);
    }
}

}  // namespace refrain
