#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "audit/report.hpp"

namespace refrain {
namespace {

void write_finding(fmt::memory_buffer& out, const Finding& finding) {
  auto to = std::back_inserter(out);
  fmt::format_to(to, "{} {} {}  {}\n", to_string(finding.severity), finding.rule, finding.name, finding.where);
  fmt::format_to(to, "    {}\n", finding.message);
  for (const std::string& line : finding.evidence) fmt::format_to(to, "    - {}\n", line);
  fmt::format_to(to, "    fix: {}\n\n", finding.fix);
}

// One line a reason, with all the rules that it stopped.
void write_not_checked(fmt::memory_buffer& out, const std::vector<NotChecked>& not_checked) {
  std::vector<std::string> reasons;
  for (const NotChecked& item : not_checked)
    if (std::find(reasons.begin(), reasons.end(), item.reason) == reasons.end()) reasons.push_back(item.reason);
  auto to = std::back_inserter(out);
  fmt::format_to(to, "not checked\n");
  for (const std::string& reason : reasons) {
    std::string rules;
    for (const NotChecked& item : not_checked) {
      if (item.reason != reason) continue;
      if (!rules.empty()) rules += ", ";
      rules += item.rule;
    }
    fmt::format_to(to, "    {}: {}\n", rules, reason);
  }
  fmt::format_to(to, "\n");
}

std::string plural(std::size_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string summary(const Report& report) {
  if (report.findings().empty())
    return report.not_checked().empty() ? "clean: every rule was checked and none is broken"
                                        : "clean as far as it was checked: no finding";
  return fmt::format("{}, {}, {}", plural(report.count(Severity::error), "error"),
                     plural(report.count(Severity::warning), "warning"), plural(report.count(Severity::note), "note"));
}

}  // namespace

std::string report_text(const Report& report) {
  fmt::memory_buffer out;
  for (const Finding& finding : report.findings()) write_finding(out, finding);
  if (!report.not_checked().empty()) write_not_checked(out, report.not_checked());
  fmt::format_to(std::back_inserter(out), "{}; {} of {} without a contract\n", summary(report), report.unknown_nodes,
                 plural(report.nodes, "node"));
  return fmt::to_string(out);
}

}  // namespace refrain
