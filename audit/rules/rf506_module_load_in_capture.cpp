// RF506: a module was loaded or unloaded, or a kernel launched for the first time,
// while a capture was open. Some drivers refuse it and the capture is dead; newer
// ones let it pass, and the time it took lies inside the captured region.
#include <fmt/format.h>

#include <algorithm>

#include "audit/rules/capture_words.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

bool is_module_call(const ApiEvent& call) noexcept {
  switch (call.api) {
    case Api::module_load:
    case Api::module_unload: return true;
    // On a stream outside the capture its own escape is the fault.
    case Api::launch_kernel_first_use: return call.target != Target::other && call.target != Target::legacy;
    default: return false;
  }
}

std::string fix_for(const ApiEvent& call) {
  if (call.api == Api::module_unload)
    return "keep the module for the life of the process, or unload it after the capture has ended";
  return "load every module and launch every kernel once before the capture, by a warm-up that takes the same paths "
         "(cuModuleGetFunction, cudaFuncGetAttributes, or CUDA_MODULE_LOADING=EAGER)";
}

/// Which the warm-up missed, where the recording names it.
bool was_launched_before(const Timeline& timeline, const ApiEvent& load) {
  return std::any_of(timeline.calls.begin(), timeline.calls.end(), [&](const ApiEvent& call) {
    return call.sequence < load.sequence && is_launch(call.api) && call.code == 0 && call.detail == load.detail;
  });
}

void report_refused(const Timeline& timeline, const CaptureWindow& capture, Report& report) {
  const ApiEvent& call = *capture.violation;
  Finding finding = new_finding("RF506", Certainty::proven);
  finding.where = capture_place(capture, call);
  finding.message = fmt::format("{} during a {} capture: the capture is dead from here on", call_words(call),
                                to_string(capture.mode));
  if (call.api != Api::module_unload && call.detail != 0 && !was_launched_before(timeline, call))
    finding.evidence.push_back(fmt::format("{} was never launched before the capture", timeline.text(call.detail)));
  add_consequences(finding, timeline, capture);
  finding.fix = fix_for(call);
  report.add(std::move(finding), std::vector<std::string>{to_string(call.api), timeline.text(call.detail)});
}

void report_passed(const Timeline& timeline, const CaptureWindow& capture, const std::vector<const ApiEvent*>& calls,
                   Report& report) {
  const ApiEvent& first = *calls.front();
  double ms = 0;
  for (const ApiEvent* call : calls)
    ms += (static_cast<double>(call->end_ns) - static_cast<double>(call->start_ns)) / 1e6;
  Finding finding = new_finding("RF506", Certainty::proven);
  finding.severity = Severity::warning;
  finding.count = calls.size();
  finding.where = capture_place(capture, first);
  finding.message = fmt::format(
      "{} module load{} or first use{} ({}) inside the capture of stream {}: this driver let it pass, others refuse it "
      "and kill the capture",
      calls.size(), calls.size() == 1 ? "" : "s", calls.size() == 1 ? "" : "s", list_work(timeline, calls),
      capture.stream);
  if (ms >= 1) finding.evidence.push_back(fmt::format("took {:.1f} ms inside the captured region", ms));
  finding.fix = fix_for(first);
  report.add(std::move(finding), work_names(timeline, calls));
}

std::vector<const ApiEvent*> passed_calls(const CaptureWindow& capture) {
  std::vector<const ApiEvent*> calls;
  for (const ApiEvent* call : capture.calls) {
    if (capture.violation != nullptr && call->sequence >= capture.violation->sequence) break;
    if (call->code == 0 && call->thread == capture.thread && is_module_call(*call)) calls.push_back(call);
  }
  return calls;
}

}  // namespace

void check_rf506(const SubjectView& view, Report& report) {
  if (!has_timelines(view, report, "RF506", "a graph alone does not show the calls made during its capture")) return;
  for (const Recording* recording : view.timelines())
    for (const CaptureWindow& capture : whole_captures(*recording, report, "RF506")) {
      const auto passed = passed_calls(capture);
      if (!passed.empty()) report_passed(recording->timeline, capture, passed, report);
      if (capture.violation != nullptr && kind_of(capture) == ViolationKind::module_load)
        report_refused(recording->timeline, capture, report);
    }
}

}  // namespace refrain
