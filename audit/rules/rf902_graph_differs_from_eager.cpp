// RF902: a replay gave another output than the same step run eagerly.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/replay_checks.hpp"

namespace refrain {
namespace {

// Not `error > tolerance`: a NaN must fail.
bool failed(const ReplayCheck& check) {
  if (check.kind != CheckKind::eager) return false;
  return !check.finite || !(check.max_abs_error <= check.tolerance) || (check.tolerance == 0 && !check.bit_equal);
}

std::string allowed(const ReplayCheck& check) {
  if (!check.finite) return "";
  return check.tolerance == 0 ? ", and equal bits were asked for"
                              : fmt::format(", and {:g} is allowed", check.tolerance);
}

}  // namespace

void check_rf902(const SubjectView& view, Report& report) {
  if (!has_checks(view, report, "RF902", CheckKind::eager)) return;
  for (const Recording* recording : view.timelines())
    for (const auto& [graph, checks] : checks_of(*recording, failed)) {
      const ReplayCheck& first = *checks.front();
      Finding finding = new_check_finding("RF902", graph);
      finding.count = checks.size();
      finding.message = fmt::format("a replay does not give what the step gives when it is run eagerly: {}{}",
                                    outcome(first), allowed(first));
      if (checks.size() > 1) finding.evidence.push_back(fmt::format("{} comparisons failed", checks.size()));
      finding.fix =
          "look for what the graph holds of capture time: work that escaped it, a baked-in scalar, an input that is "
          "not refreshed; refrain diff of the graph with a fresh capture shows the nodes that differ";
      report.add(std::move(finding), std::vector<std::string>{"eager"});
    }
}

}  // namespace refrain
