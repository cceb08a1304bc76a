// RF605: a graph, or a child graph, without a node. Its work ran somewhere else:
// on another stream, or not at all. An empty body of a conditional may be meant.
// Where the recording shows the calls that escaped, rules 501, 502 and 504 report
// those, and the empty graph is their consequence.
#include <algorithm>

#include "audit/rules/capture_words.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

bool escape_was_seen(const GraphView& view) {
  const auto captures = captures_of(view.recording().timeline);
  return std::any_of(captures.begin(), captures.end(), [&](const CaptureWindow& capture) {
    if (graph_of_capture(view.recording(), capture) != &view.graph()) return false;
    return !escaped_calls(capture, Escape::other_stream).empty() ||
           !escaped_calls(capture, Escape::legacy_stream).empty() ||
           !escaped_calls(capture, Escape::blocking_copy).empty();
  });
}

}  // namespace

void check_rf605(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF605")) return;
  for (const GraphView& graph : view.graphs()) {
    if (!graph.graph().nodes.empty() || graph.parent() == NodeKind::conditional) continue;
    if (escape_was_seen(graph)) continue;
    Finding finding = new_finding("RF605", graph, Certainty::proven);
    finding.where = place(graph);
    finding.message =
        "the graph has no node: a launch does nothing, and the work meant for it ran at capture time on another "
        "stream, or never";
    finding.fix = "launch the step's work on the stream that is being captured, or on streams forked from it by events";
    report.add(std::move(finding), {});
  }
}

}  // namespace refrain
