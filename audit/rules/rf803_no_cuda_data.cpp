// RF803: the input holds neither a call nor a graph: there was nothing to audit,
// and an empty report must not pass for a clean one.
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {

void check_rf803(const SubjectView& view, Report& report) {
  if (view.subject().recordings.empty()) report.not_checked("RF803", "there was no input");
  for (const Recording& recording : view.subject().recordings) {
    const Timeline& timeline = recording.timeline;
    if (!recording.graphs.empty() || !timeline.calls.empty() || !timeline.checks.empty() || !timeline.work.empty())
      continue;
    Finding finding = new_finding("RF803", Certainty::proven);
    finding.where = recording.name;
    finding.message = "the input holds no CUDA call, no graph and no replay check: nothing was audited";
    finding.fix = "record the process that drives the GPU (a server may do so in a child process), from its start";
    report.add(std::move(finding), {});
  }
}

}  // namespace refrain
