// RF901: a replay with poison in memory that must not matter gave another output
// than a replay without.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/replay_checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

bool failed(const ReplayCheck& check) {
  return check.kind == CheckKind::poison && (!check.finite || !check.bit_equal);
}

void report_graph(const Timeline& timeline, const std::string& graph, const std::vector<const ReplayCheck*>& checks,
                  Report& report) {
  std::map<std::string, std::vector<const ReplayCheck*>> axes;
  for (const ReplayCheck* check : checks) axes[timeline.text(check->axis)].push_back(check);
  Finding finding = new_check_finding("RF901", graph);
  finding.count = checks.size();
  std::vector<std::string> names, reached;
  for (const auto& [axis, of_axis] : axes) {
    names.push_back(axis);
    std::string fills;
    for (const ReplayCheck* check : of_axis) {
      fills += fmt::format("{}{}", fills.empty() ? "" : ", ", timeline.text(check->fill));
      finding.evidence.push_back(
          fmt::format("{} filled with {}: {}", axis, timeline.text(check->fill), outcome(*check)));
    }
    reached.push_back(fmt::format("{} ({})", axis, fills));
  }
  std::string list;
  for (const std::string& axis : reached) list += (list.empty() ? "" : "; ") + axis;
  finding.message = fmt::format("what lies in memory that must not matter changes the output of real rows: {}", list);
  finding.fix = fmt::format(
      "keep {} from the computation: mask before the value is loaded or select instead of "
      "multiplying by zero, repoint padding at a real entry, and write what is read in the graph",
      list_names(names));
  report.add(std::move(finding), names);
}

}  // namespace

void check_rf901(const SubjectView& view, Report& report) {
  if (!has_checks(view, report, "RF901", CheckKind::poison)) return;
  for (const Recording* recording : view.timelines())
    for (const auto& [graph, checks] : checks_of(*recording, failed))
      report_graph(recording->timeline, graph, checks, report);
}

}  // namespace refrain
