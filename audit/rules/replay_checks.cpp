#include "audit/rules/replay_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/rules/words.hpp"

namespace refrain {
namespace {

const char* kind_words(CheckKind kind) {
  switch (kind) {
    case CheckKind::poison: return "no poisoned replay among the replay checks: run refrain verify";
    case CheckKind::repeat: return "no repeated replay among the replay checks: run refrain verify";
    case CheckKind::eager: return "no comparison with eager among the replay checks: run refrain verify";
  }
  return "";
}

}  // namespace

ChecksByGraph checks_of(const Recording& recording, bool (*failed)(const ReplayCheck&)) {
  ChecksByGraph graphs;
  for (const ReplayCheck& check : recording.timeline.checks)
    if (failed(check)) graphs[recording.timeline.text(check.graph)].push_back(&check);
  return graphs;
}

bool has_checks(const SubjectView& view, Report& report, std::string_view rule, CheckKind kind) {
  bool any = false, of_kind = false;
  for (const Recording* recording : view.timelines())
    for (const ReplayCheck& check : recording->timeline.checks) {
      any = true;
      of_kind = of_kind || check.kind == kind;
    }
  if (!of_kind) report.not_checked(rule, any ? kind_words(kind) : "no replay checks: run refrain verify");
  return of_kind;
}

Finding new_check_finding(std::string_view rule, const std::string& graph) {
  Finding finding = new_finding(rule, Certainty::proven);
  finding.graph = graph;
  finding.where = graph.empty() ? "the graph" : "graph " + graph;
  return finding;
}

std::string outcome(const ReplayCheck& check) {
  if (!check.finite) return "the output is not finite";
  if (check.max_abs_error == 0) return "the output differs in its bits, if not in its values";
  return fmt::format("the output differs by up to {:g}", check.max_abs_error);
}

}  // namespace refrain
