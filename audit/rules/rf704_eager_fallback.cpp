// RF704: steps of one name replayed graphs, and from some step on none of them
// does: they launch their kernels one by one. Only a fall to the very end counts;
// steps of one name that run now one way and now the other are two kinds of work.
#include <fmt/format.h>

#include <map>
#include <string>

#include "audit/rules/checks.hpp"
#include "audit/rules/eager_work.hpp"
#include "audit/rules/words.hpp"
#include "audit/steps.hpp"
#include "traces/step_names.hpp"

namespace refrain {
namespace {

// So many steps one way, then so many the other, are no accident of one batch.
constexpr std::size_t kSteps = 4;

/// Steps of one name.
struct Coverage {
  std::size_t replayed = 0;              // steps before the fall, all of them by graph
  bool mixed = false;                    // an eager step stood before a replayed one
  std::vector<const StepCalls*> fallen;  // since then
  std::uint64_t kernels = 0;             // in these
  const ApiEvent* first = nullptr;       // of the kernels
};

void add(Coverage& coverage, const StepCalls& step) {
  std::uint64_t kernels = 0;
  bool replayed = false;
  const ApiEvent* first = nullptr;
  for (const ApiEvent* call : step.calls) {
    replayed = replayed || is_replay(*call);
    if (!is_eager_kernel(*call)) continue;
    ++kernels;
    if (first == nullptr) first = call;
  }
  if (replayed) {
    coverage.mixed = coverage.mixed || !coverage.fallen.empty();
    ++coverage.replayed;
  } else if (kernels > 0 && coverage.replayed > 0) {
    coverage.fallen.push_back(&step);
    coverage.kernels += kernels;
    if (coverage.first == nullptr) coverage.first = first;
  } else if (kernels > 0) {
    coverage.mixed = true;
  }
}

void report_fall(const Timeline& timeline, const std::string& kind, const Coverage& coverage, std::size_t all,
                 Report& report) {
  const StepCalls& step = *coverage.fallen.front();
  Finding finding = new_finding("RF704", step_certainty(timeline));
  finding.call = coverage.first->sequence;
  finding.step = step.number;
  finding.count = coverage.fallen.size();
  finding.where = describe_step(timeline, step, all);
  finding.message = fmt::format(
      "graph coverage of these steps fell from 100 % to 0 % here: {} steps replayed a graph, the {} since launch their "
      "kernels one by one ({} a step)",
      coverage.replayed, coverage.fallen.size(), coverage.kernels / coverage.fallen.size());
  if (const std::string& detail = timeline.text(coverage.first->detail); !detail.empty())
    finding.evidence.push_back(fmt::format("first kernel: {}", detail));
  finding.fix =
      "look for what the step needs to be padded to its bucket and did not get, such as a page for a dummy "
      "request: allocate it before the first step";
  report.add(std::move(finding), std::vector<std::string>{kind});
}

}  // namespace

void check_rf704(const SubjectView& view, Report& report) {
  for (const Recording* recording : recordings_with_steps(view, report, "RF704")) {
    const auto steps = steps_of(recording->timeline);
    std::map<std::string, Coverage> kinds;
    for (const StepCalls& step : steps) add(kinds[step_kind(recording->timeline.text(step.range->name))], step);
    for (const auto& [kind, coverage] : kinds)
      if (!coverage.mixed && coverage.replayed >= kSteps && coverage.fallen.size() >= kSteps)
        report_fall(recording->timeline, kind, coverage, steps.size(), report);
  }
}

}  // namespace refrain
