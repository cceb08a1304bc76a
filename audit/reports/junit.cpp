// JUnit XML as CI servers read it (GitLab, Jenkins, GitHub's actions): one suite an input, one case a rule. A case
// holds one failure at most, so all findings of its rule stand in that one's text.
#include <fmt/format.h>

#include <iterator>
#include <map>

#include "audit/reports/escape.hpp"
#include "audit/reports/formats.hpp"
#include "audit/rules.hpp"

namespace refrain {
namespace {

struct Case {
  std::vector<const Finding*> failing, other;
  std::vector<const NotChecked*> not_checked;
};

struct Suite {
  std::string input;
  std::map<std::string, Case, std::less<>> cases;  ///< by rule, those with something to say
};

std::vector<Suite> suites_of(const ReportSource& source) {
  const Report& report = source.report;
  std::vector<Suite> suites;
  std::map<std::string, std::size_t> place;
  const auto suite = [&](const std::string& input) -> Suite& {
    const auto [at, first] = place.emplace(input, suites.size());
    if (first) suites.push_back({input, {}});
    return suites[at->second];
  };
  for (const std::string& input : report.inputs) suite(input);
  for (const Finding& finding : report.findings()) {
    Case& item = suite(finding.input).cases[finding.rule];
    const bool fails = finding.standing == Standing::open && finding.severity >= source.threshold.fail_on;
    (fails ? item.failing : item.other).push_back(&finding);
  }
  for (const NotChecked& item : report.not_checked()) suite(item.input).cases[item.rule].not_checked.push_back(&item);
  return suites;
}

bool skipped(const Case& item) {
  return item.failing.empty() && item.other.empty() && !item.not_checked.empty();
}

/// A writer of lines, so that the functions below show the document's shape.
class Lines {
 public:
  template <class... Args>
  void operator()(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_.push_back('\n');
  }
  [[nodiscard]] std::string text() const { return fmt::to_string(out_); }

 private:
  fmt::memory_buffer out_;
};

void write_finding(Lines& line, const Finding& finding) {
  line("{} {} {}", to_string(finding.severity), finding.rule, xml(finding.where));
  line("  {}", xml(finding.message));
  for (const std::string& fact : finding.evidence) line("  - {}", xml(fact));
  line("  fix: {}", xml(finding.fix));
  line("  fingerprint: {}", finding.fingerprint);
}

// What does not fail stands in the case's output: findings below the threshold, known, suppressed, partly unchecked.
void write_output(Lines& line, const Case& item) {
  if (item.other.empty() && (skipped(item) || item.not_checked.empty())) return;
  line("      <system-out>");
  for (const Finding* finding : item.other) {
    const bool counts = finding->standing == Standing::open;
    line("{}{}", counts ? "below the threshold" : to_string(finding->standing),
         finding->excuse.empty() ? "" : ": " + xml(finding->excuse));
    write_finding(line, *finding);
  }
  for (const NotChecked* reason : item.not_checked) line("not checked: {}", xml(reason->reason));
  line("      </system-out>");
}

void write_case(Lines& line, const Suite& suite, const Rule& rule) {
  const auto at = suite.cases.find(std::string_view(rule.id));
  const std::string head =
      fmt::format("    <testcase classname=\"{}\" name=\"{} {}\" time=\"0\"", xml(suite.input), rule.id, rule.name);
  if (at == suite.cases.end()) return line("{}/>", head);
  const Case& item = at->second;
  line("{}>", head);
  if (!item.failing.empty()) {
    const Finding& first = *item.failing.front();
    const std::string more = item.failing.size() > 1 ? fmt::format(" (and {} more)", item.failing.size() - 1) : "";
    line("      <failure type=\"{}\" message=\"{}: {}{}\">", to_string(first.severity), xml(first.where),
         xml(first.message), more);
    for (const Finding* finding : item.failing) write_finding(line, *finding);
    line("      </failure>");
  } else if (skipped(item)) {
    std::string reasons;
    for (const NotChecked* reason : item.not_checked) reasons += (reasons.empty() ? "" : "; ") + xml(reason->reason);
    line("      <skipped message=\"not checked: {}\"/>", reasons);
  }
  write_output(line, item);
  line("    </testcase>");
}

struct Counts {
  std::size_t tests = 0, failures = 0, skipped = 0;
};

Counts counts_of(const Suite& suite) {
  Counts counts{rules().size(), 0, 0};
  for (const auto& [rule, item] : suite.cases) {
    counts.failures += item.failing.empty() ? 0 : 1;
    counts.skipped += skipped(item) ? 1 : 0;
  }
  return counts;
}

}  // namespace

std::string report_junit(const ReportSource& source) {
  const std::vector<Suite> suites = suites_of(source);
  Counts all;
  for (const Suite& suite : suites) {
    const Counts counts = counts_of(suite);
    all = {all.tests + counts.tests, all.failures + counts.failures, all.skipped + counts.skipped};
  }
  Lines line;
  line("<?xml version=\"1.0\" encoding=\"UTF-8\"?>");
  line("<testsuites name=\"refrain audit\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">", all.tests,
       all.failures, all.skipped);
  for (const Suite& suite : suites) {
    const Counts counts = counts_of(suite);
    line("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"0\">",
         xml(suite.input), counts.tests, counts.failures, counts.skipped);
    for (const Rule& rule : rules()) write_case(line, suite, rule);
    for (const std::string& remark : source.report.remarks)
      if (&suite == &suites.front()) line("    <system-out>remark: {}</system-out>", xml(remark));
    line("  </testsuite>");
  }
  line("</testsuites>");
  return line.text();
}

}  // namespace refrain
