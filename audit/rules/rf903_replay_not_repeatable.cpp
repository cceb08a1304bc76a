// RF903: two replays of the same inputs gave different bits.
#include <fmt/format.h>

#include "audit/rules/checks.hpp"
#include "audit/rules/replay_checks.hpp"

namespace refrain {
namespace {

bool failed(const ReplayCheck& check) {
  return check.kind == CheckKind::repeat && !check.bit_equal;
}

}  // namespace

void check_rf903(const SubjectView& view, Report& report) {
  if (!has_checks(view, report, "RF903", CheckKind::repeat)) return;
  for (const Recording* recording : view.timelines())
    for (const auto& [graph, checks] : checks_of(*recording, failed)) {
      Finding finding = new_check_finding("RF903", graph);
      finding.count = checks.size();
      finding.message =
          fmt::format("a second replay of the same inputs gives other bits: {}", outcome(*checks.front()));
      if (checks.size() > 1) finding.evidence.push_back(fmt::format("{} repeats differ", checks.size()));
      finding.fix =
          "look for state that one replay leaves to the next (a counter or a scratch that the graph does not zero), "
          "for "
          "unordered nodes that share bytes, and for floating-point atomics";
      report.add(std::move(finding), std::vector<std::string>{"repeat"});
    }
}

}  // namespace refrain
