// RF102: the host waits for the device in the middle of a step. The wait after the
// step's last work is how its result is awaited, and no finding; a wait for a copy
// that blocks anyway is rule 103's.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "audit/captures.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/step_copies.hpp"
#include "audit/rules/step_tally.hpp"

namespace refrain {
namespace {

bool is_wait(const ApiEvent& call) {
  return is_sync(call.api) && !is_query(call.api) && call.code == 0;
}

/// The waits of a step that hold up work of the same step.
std::vector<const ApiEvent*> waits_of(const StepCalls& step) {
  const auto last_work = std::find_if(step.calls.rbegin(), step.calls.rend(),
                                      [](const ApiEvent* call) { return submits_work(call->api); });
  if (last_work == step.calls.rend()) return {};
  std::set<const ApiEvent*> of_copies;
  for (const StepCopy& copy : waiting_copies(step)) of_copies.insert(copy.sync);
  std::vector<const ApiEvent*> waits;
  for (const ApiEvent* call : step.calls)
    if (is_wait(*call) && call->sequence < (*last_work)->sequence && !of_copies.contains(call)) waits.push_back(call);
  return waits;
}

}  // namespace

void check_rf102(const SubjectView& view, Report& report) {
  for (const Recording* recording : recordings_with_steps(view, report, "RF102")) {
    const auto steps = steps_of(recording->timeline);
    StepTally tally(recording->timeline, steps.size());
    for (const StepCalls& step : steps)
      for (const ApiEvent* wait : waits_of(step)) tally.add(step, *wait);
    tally.each([&](const StepCost& cost) {
      Finding finding = tally.finding("RF102", cost);
      finding.message = fmt::format(
          "{} ran {}, with work of the same step launched after it: the device runs dry while the host waits and then "
          "has to catch up",
          to_string(cost.first->api), tally.how_often(cost));
      finding.fix =
          "keep what the host waits for on the device, or wait once, after the step's last launch; where the host "
          "needs "
          "a value, copy it to pinned memory and read it a step later";
      report.add(std::move(finding), tally.names(cost));
    });
  }
}

}  // namespace refrain
