// RF706: one graph exec launched on two streams with nothing that orders the
// launches. CUDA never runs an exec beside itself: the second launch waits for the
// first, whatever its stream, so the overlap that was meant does not happen.
#include <fmt/format.h>

#include <map>

#include "audit/graph_lives.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/overlaps.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

struct Serialised {
  const ApiEvent* earlier = nullptr;
  const ApiEvent* later = nullptr;
  std::uint64_t count = 0;
};

void check_recording(const Recording& recording, Report& report) {
  Overlaps overlaps;
  std::map<std::uint64_t, Serialised> execs;
  for (const ApiEvent& call : recording.timeline.calls) {
    overlaps.follow(call);
    if (call.api != Api::graph_launch || !ran_at_once(call) || call.object == 0) continue;
    overlaps.launch(call.object, call, [&](const ApiEvent& earlier) {
      Serialised& exec = execs[call.object];
      if (exec.count++ == 0) exec.earlier = &earlier, exec.later = &call;
    });
  }
  for (const auto& [handle, exec] : execs) {
    Finding finding = new_finding("RF706", Certainty::proven);
    finding.count = exec.count;
    finding.where =
        fmt::format("cudaGraphLaunch on stream {}, after one on stream {}", exec.later->stream, exec.earlier->stream);
    finding.message = fmt::format(
        "one graph exec was launched on two streams with no order between them, {}: CUDA runs an exec once at a time, "
        "so "
        "the streams wait for each other",
        exec.count == 1 ? "once" : fmt::format("{} times", exec.count));
    finding.fix = "instantiate the graph once for each stream that is to run it at the same time";
    report.add(std::move(finding), std::vector<std::string>{"graph exec"});
  }
}

}  // namespace

void check_rf706(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF706", "a graph alone does not show its launches")) return;
  for (const Recording* recording : view.timelines())
    if (recording->timeline.work.empty())
      check_recording(*recording, report);
    else
      report.not_checked("RF706", "a profiler's trace may lack the event calls that put two streams in order");
}

}  // namespace refrain
