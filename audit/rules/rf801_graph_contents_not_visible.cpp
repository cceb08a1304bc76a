// RF801: graphs were launched and the input holds neither them nor the work that
// their replays did. What ran is unknown, so nothing that was found, or not found, speaks of it. It is no fault of
// the program that was recorded: the exit code is 3, not 1.
#include <fmt/format.h>

#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "audit/graph_lives.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

struct Launches {
  std::uint64_t all = 0, hidden = 0;
  std::set<std::uint64_t> execs;  // of the hidden ones; 0 = not known which
};

/// Launches whose nodes a profiler saw at work, one by one.
std::unordered_set<std::uint64_t> seen_at_work(const Timeline& timeline) {
  std::unordered_set<std::uint64_t> seen;
  for (const WorkEvent& work : timeline.work)
    if (work.kind != WorkKind::graph && work.call != WorkEvent::kNoCall) seen.insert(work.call);
  return seen;
}

// An update keeps the nodes of an exec, so one that was made of a known graph stays known.
Launches launches_of(const Recording& recording) {
  const Timeline& timeline = recording.timeline;
  std::set<std::uint64_t> described, known;
  const std::unordered_set<std::uint64_t> seen = seen_at_work(timeline);
  for (const GraphEvent& event : timeline.graphs)
    if (event.graph < recording.graphs.size()) described.insert(event.handle);
  Launches launches;
  for (const ApiEvent& call : timeline.calls) {
    if (call.api == Api::graph_instantiate && call.code == 0 && call.made != 0) {
      if (described.contains(call.object))
        known.insert(call.made);
      else
        known.erase(call.made);
    }
    if (call.api != Api::graph_launch || !ran_at_once(call)) continue;
    ++launches.all;
    if (known.contains(call.object) || seen.contains(call.sequence)) continue;
    ++launches.hidden;
    launches.execs.insert(call.object);
  }
  return launches;
}

std::string execs_in_words(const std::set<std::uint64_t>& execs) {
  if (execs.contains(0)) return "graph execs";
  return fmt::format("{} graph exec{}", execs.size(), execs.size() == 1 ? "" : "s");
}

const char* fix_for(const Timeline& timeline) {
  for (const EvidenceLimit& limit : timeline.limits)
    if (limit.name == "graph-mode")
      return "profile again with nsys profile --cuda-graph-trace=node: in graph mode a replay is one record";
  if (!timeline.work.empty())
    return "profile again with the device's activity on until the last replay is done, or record with refrain";
  return "record from before the first capture on, so that graphs are described as they are captured";
}

}  // namespace

void check_rf801(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF801", "a graph alone does not show its launches")) return;
  for (const Recording* recording : view.timelines()) {
    const Launches launches = launches_of(*recording);
    if (launches.hidden == 0) continue;
    Finding finding = new_finding("RF801", Certainty::proven);
    finding.count = launches.hidden;
    finding.where = recording->name;
    finding.message = fmt::format(
        "{} of {} graph launches ran {} whose {} not in the input: what they did was not audited", launches.hidden,
        launches.all, execs_in_words(launches.execs), recording->timeline.work.empty() ? "graph is" : "nodes are");
    finding.fix = fix_for(recording->timeline);
    report.add(std::move(finding), std::vector<std::string>{"graph_launch"});
  }
}

}  // namespace refrain
