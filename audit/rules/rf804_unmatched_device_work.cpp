// RF804: the device did work whose call the input does not hold, though it holds
// calls. Work of calls from before the profiler began comes first on its stream and is
// no finding; what follows work of a recorded call on the same stream was handed out
// later, and its record is lost. Neither is seen who handed out the work of a process
// of which no call was recorded.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

struct Unmatched {
  std::uint64_t lost = 0;     // behind work of a recorded call
  std::uint64_t foreign = 0;  // of processes without a recorded call
  std::set<std::uint32_t> processes;
  std::set<std::string> names;
};

Unmatched unmatched_work(const Timeline& timeline) {
  constexpr std::size_t kNames = 16;
  std::set<std::uint32_t> seen;  // processes with a call that handed out work
  for (const WorkEvent& work : timeline.work)
    if (work.call != WorkEvent::kNoCall) seen.insert(work.process);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, bool> matched;  // by stream
  Unmatched found;
  for (const WorkEvent& work : timeline.work) {
    bool& behind = matched[{work.process, work.device, work.stream}];
    if (work.call != WorkEvent::kNoCall) {
      behind = true;
      continue;
    }
    const bool foreign = !seen.contains(work.process);
    if (!foreign && !behind) continue;
    ++(foreign ? found.foreign : found.lost);
    if (foreign) found.processes.insert(work.process);
    if (work.name != 0 && found.names.size() < kNames) found.names.insert(timeline.text(work.name));
  }
  return found;
}

void report_work(const Recording& recording, const Unmatched& found, Report& report) {
  Finding finding = new_finding("RF804", Certainty::proven);
  finding.count = found.lost + found.foreign;
  finding.where = recording.name;
  finding.message = fmt::format(
      "{} of {} pieces of device work have no call in the input: who handed them out, and in which step, is not known",
      finding.count, recording.timeline.work.size());
  if (found.lost > 0)
    finding.evidence.push_back(
        fmt::format("{} came behind work of a recorded call on the same stream: their calls are lost", found.lost));
  if (found.foreign > 0)
    finding.evidence.push_back(fmt::format("{} are of {} process{} of which no call was recorded", found.foreign,
                                           found.processes.size(), found.processes.size() == 1 ? "" : "es"));
  if (!found.names.empty()) finding.evidence.push_back("work: " + list_names({found.names.begin(), found.names.end()}));
  finding.fix =
      "profile again with the calls of every process traced (nsys: --trace=cuda on the parent, child processes "
      "included) and larger buffers";
  report.add(std::move(finding), std::vector<std::string>{"device work"});
}

}  // namespace

void check_rf804(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF804", "a graph alone does not show device work")) return;
  for (const Recording* recording : view.timelines()) {
    if (recording->timeline.work.empty() || recording->timeline.calls.empty()) continue;
    if (const Unmatched found = unmatched_work(recording->timeline); found.lost + found.foreign > 0)
      report_work(*recording, found, report);
  }
}

}  // namespace refrain
