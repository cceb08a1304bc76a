// RF801: graphs were launched and the input does not hold them. What ran is
// unknown, so nothing that was found, or not found, speaks of it. It is no fault of
// the program that was recorded: the exit code is 3, not 1.
#include <fmt/format.h>

#include <set>
#include <vector>

#include "audit/graph_lives.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

struct Launches {
  std::uint64_t all = 0, hidden = 0;
  std::set<std::uint64_t> execs;  // of the hidden ones
};

// An update keeps the nodes of an exec, so one that was made of a known graph stays known.
Launches launches_of(const Recording& recording) {
  const Timeline& timeline = recording.timeline;
  std::set<std::uint64_t> described, known;
  for (const GraphEvent& event : timeline.graphs)
    if (event.graph < recording.graphs.size()) described.insert(event.handle);
  Launches launches;
  for (const ApiEvent& call : timeline.calls) {
    if (call.api == Api::graph_instantiate && call.code == 0) {
      if (described.contains(call.object))
        known.insert(call.made);
      else
        known.erase(call.made);
    }
    if (call.api != Api::graph_launch || !ran_at_once(call)) continue;
    ++launches.all;
    if (known.contains(call.object)) continue;
    ++launches.hidden;
    launches.execs.insert(call.object);
  }
  return launches;
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
        "{} of {} graph launches ran {} graph exec{} whose graph is not in the input: what they did was not audited",
        launches.hidden, launches.all, launches.execs.size(), launches.execs.size() == 1 ? "" : "s");
    finding.fix = "record from before the first capture on, so that graphs are described as they are captured";
    report.add(std::move(finding), std::vector<std::string>{"graph_launch"});
  }
}

}  // namespace refrain
