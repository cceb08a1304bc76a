// RF104: a step asks again and again whether the device is done, and hands out no
// work while it asks. Each query takes the driver's lock and a microsecond of the
// host. Queries of other threads are not counted, nor those that stand between
// launches: a caching allocator looks at its events whenever it is asked for memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <vector>

#include "audit/captures.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/step_tally.hpp"

namespace refrain {
namespace {

constexpr std::size_t kStorm = 64;  // queries of one thread with no work in between

/// The queries of a step's storms.
std::vector<const ApiEvent*> storms_of(const StepCalls& step) {
  std::vector<const ApiEvent*> storms, run;
  const auto close = [&] {
    if (run.size() >= kStorm) storms.insert(storms.end(), run.begin(), run.end());
    run.clear();
  };
  for (const ApiEvent* call : step.calls) {
    if (is_query(call->api)) run.push_back(call);
    if (submits_work(call->api)) close();
  }
  close();
  return storms;
}

}  // namespace

void check_rf104(const SubjectView& view, Report& report) {
  for (const Recording* recording : recordings_with_steps(view, report, "RF104")) {
    const auto steps = steps_of(recording->timeline);
    StepTally tally(recording->timeline, steps.size());
    const ApiEvent* first = nullptr;  // one storm, whichever query it is made of
    std::set<std::string> apis;
    for (const StepCalls& step : steps) {
      const std::vector<const ApiEvent*> queries = storms_of(step);
      if (queries.empty()) continue;
      if (first == nullptr) first = queries.front();
      for (const ApiEvent* query : queries) {
        tally.add(step, *query, duration_ns(*query), first);
        apis.insert(to_string(query->api));
      }
    }
    tally.each([&](const StepCost& cost) {
      Finding finding = tally.finding("RF104", cost);
      finding.message = fmt::format(
          "{} ran {}, {} of them in the worst: the host spins on the driver's lock, which its "
          "launches need too",
          fmt::join(apis, " and "), tally.how_often(cost), cost.worst_count);
      finding.fix =
          "wait with one cudaEventSynchronize after the step's last launch, or let the step's last kernel "
          "write a sequence number to mapped memory and poll that";
      report.add(std::move(finding), tally.names(cost));
    });
  }
}

}  // namespace refrain
