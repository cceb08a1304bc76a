#include "audit/reports/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace refrain {
namespace {

struct Group {
  char digit;
  const char* title;
};

constexpr Group kGroups[] = {
    {'1', "host sync"},
    {'2', "workspace"},
    {'3', "zeroing, padding, order"},
    {'4', "pointers, baked values"},
    {'5', "escaped work"},
    {'6', "graph health and cost"},
    {'7', "serving timeline"},
    {'8', "evidence"},
    {'9', "replay checks"},
};

}  // namespace

const char* group_title(std::string_view rule) {
  for (const Group& group : kGroups)
    if (rule.size() > 2 && rule[2] == group.digit) return group.title;
  return "other";
}

std::vector<FindingGroup> open_findings(const Report& report) {
  std::vector<FindingGroup> groups;
  for (const Group& group : kGroups) {
    FindingGroup found{group.title, {}};
    for (const Finding& finding : report.findings())
      if (finding.standing == Standing::open && finding.rule[2] == group.digit) found.findings.push_back(&finding);
    if (!found.findings.empty()) groups.push_back(std::move(found));
  }
  return groups;
}

std::vector<const Finding*> excused_findings(const Report& report) {
  std::vector<const Finding*> excused;
  for (const Standing standing : {Standing::known, Standing::suppressed})
    for (const Finding& finding : report.findings())
      if (finding.standing == standing) excused.push_back(&finding);
  return excused;
}

std::vector<ReasonRules> not_checked_by_reason(const Report& report) {
  std::vector<ReasonRules> reasons;
  std::unordered_map<std::string_view, std::size_t> place;
  std::unordered_set<std::string> seen;  // several inputs may give the same reason for the same rule
  for (const NotChecked& item : report.not_checked()) {
    if (!seen.insert(item.rule + item.reason).second) continue;
    const auto [at, first] = place.emplace(item.reason, reasons.size());
    if (first)
      reasons.push_back({item.reason, item.rule});
    else
      reasons[at->second].rules += ", " + item.rule;
  }
  return reasons;
}

std::string plural(std::size_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string summary(const Report& report) {
  const std::size_t known = report.count(Standing::known), suppressed = report.count(Standing::suppressed);
  std::string text;
  if (report.count(Standing::open) > 0)
    text =
        fmt::format("{}, {}, {}", plural(report.count(Severity::error), "error"),
                    plural(report.count(Severity::warning), "warning"), plural(report.count(Severity::note), "note"));
  else if (known + suppressed > 0)
    text = "nothing new";
  else
    text = report.not_checked().empty() ? "clean: every rule was checked and none is broken"
                                        : "clean as far as it was checked: no finding";
  if (known > 0) text += fmt::format("; {} known", known);
  if (suppressed > 0) text += fmt::format("; {} suppressed", suppressed);
  return text;
}

}  // namespace refrain
