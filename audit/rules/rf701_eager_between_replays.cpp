// RF701: a step that launches graphs and, between two of them, kernels one by
// one: the graph breaks there. Kernels before the first replay or after the last
// one, such as sampling, are how many servers are built, and no finding.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "audit/rules/checks.hpp"
#include "audit/rules/eager_work.hpp"
#include "audit/rules/step_tally.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

std::vector<const ApiEvent*> kernels_between(const std::vector<const ApiEvent*>& calls) {
  std::vector<const ApiEvent*> between, open;
  bool replayed = false;
  for (const ApiEvent* call : calls) {
    if (is_replay(*call)) {
      between.insert(between.end(), open.begin(), open.end());
      open.clear();
      replayed = true;
    } else if (replayed && is_eager_kernel(*call)) {
      open.push_back(call);
    }
  }
  return between;
}

void check_recording(const Recording& recording, Report& report) {
  const Timeline& timeline = recording.timeline;
  const auto steps = steps_of(timeline);
  StepTally tally(timeline, steps.size());
  const ApiEvent* first = nullptr;  // one finding, whichever kernels they are
  std::set<std::string> names;
  for (const StepCalls& step : steps)
    for (const ApiEvent* kernel : kernels_between(step.calls)) {
      if (first == nullptr) first = kernel;
      tally.add(step, *kernel, duration_ns(*kernel), first);
      if (kernel->detail != 0) names.insert(timeline.text(kernel->detail));
    }
  tally.each([&](const StepCost& cost) {
    Finding finding = tally.finding("RF701", cost);
    finding.message = fmt::format(
        "kernels were launched one by one between two replays of a step, {}: the graph breaks there, and the device "
        "waits for the host's launches",
        tally.how_often(cost));
    if (!names.empty()) finding.evidence.push_back("kernels: " + list_names({names.begin(), names.end()}));
    finding.fix = "capture these kernels too, so that the replays on both sides become one";
    report.add(std::move(finding), std::vector<std::string>(names.begin(), names.end()));
  });
}

}  // namespace

void check_rf701(const SubjectView& view, Report& report) {
  for (const Recording* recording : recordings_with_steps(view, report, "RF701")) check_recording(*recording, report);
}

}  // namespace refrain
