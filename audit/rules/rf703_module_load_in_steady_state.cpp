// RF703: modules that are loaded or unloaded, or kernels launched for the first
// time, in a step after the first ones of its kind. Inside a capture it is rule
// 506's; in the first steps it is how a program warms up.
#include <fmt/format.h>

#include <map>
#include <string>

#include "audit/rules/checks.hpp"
#include "audit/rules/step_tally.hpp"
#include "traces/step_names.hpp"

namespace refrain {
namespace {

// Steps of one name that may load what they need: the first run, and one for each of the paths that a batch can take
// when it first fills up or drains.
constexpr std::size_t kWarmUpSteps = 3;

bool loads(const ApiEvent& call) noexcept {
  if (call.code != 0) return false;
  return call.api == Api::module_load || call.api == Api::module_unload || call.api == Api::launch_kernel_first_use;
}

void check_recording(const Recording& recording, Report& report) {
  const auto steps = steps_of(recording.timeline);
  StepTally tally(recording.timeline, steps.size());
  std::map<std::string, std::size_t> seen;  // by kind of step
  for (const StepCalls& step : steps) {
    if (++seen[step_kind(recording.timeline.text(step.range->name))] <= kWarmUpSteps) continue;
    for (const ApiEvent* call : step.calls)
      if (loads(*call)) tally.add(step, *call);
  }
  tally.each([&](const StepCost& cost) {
    Finding finding = tally.finding("RF703", cost);
    const Api api = cost.first->api;
    const char* what = api == Api::module_load     ? "a module was loaded"
                       : api == Api::module_unload ? "a module was unloaded"
                                                   : "a kernel was launched for the first time";
    finding.message = fmt::format(
        "{} {}, after {} steps of the kind had run: loading takes milliseconds and holds the "
        "context's lock, which every launch needs",
        what, tally.how_often(cost), kWarmUpSteps);
    finding.fix = api == Api::module_unload
                      ? "keep modules for the life of the process"
                      : "load every module before serving: a warm-up that takes the same paths, or CUDA_MODULE_LOADING="
                        "EAGER";
    report.add(std::move(finding), tally.names(cost));
  });
}

}  // namespace

void check_rf703(const SubjectView& view, Report& report) {
  for (const Recording* recording : recordings_with_steps(view, report, "RF703")) check_recording(*recording, report);
}

}  // namespace refrain
