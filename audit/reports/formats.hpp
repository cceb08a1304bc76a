// The forms in which a report can be had: one table of {name, description,
// write}. A writer is a free function in a file of its own; it reads data and
// returns the whole text, ending in a newline.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "audit/batch.hpp"
#include "audit/contracts/apply.hpp"
#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

struct ReportSource {
  const Report& report;
  std::span<const Subject> subjects;  ///< what was audited, as far as the format asks for it to be kept
  Threshold threshold;
  std::string version;                         ///< of the program
  bool colour = false;                         ///< text for a terminal
  const ContractCoverage* coverage = nullptr;  ///< text and JSON say it, where it was asked for
  bool explain = false;                        ///< text: every node and contract of it
};

/// Nodes of one finding that SARIF and HTML list; JSON lists them all.
inline constexpr std::size_t kMostListed = 100;

struct ReportFormat {
  const char* name;
  const char* description;
  Keep keep;  ///< the subjects that it must be given: it names or draws their nodes
  std::string (*write)(const ReportSource& source);
};

[[nodiscard]] std::span<const ReportFormat> report_formats();
/// Null when there is none of the name.
[[nodiscard]] const ReportFormat* find_report_format(std::string_view name);
/// `text, json, sarif`: for a message.
[[nodiscard]] std::string report_format_names();

/// SARIF 2.1.0: the rules with their help, a result a finding, not-checked as notifications.
[[nodiscard]] std::string report_sarif(const ReportSource& source);
/// JUnit XML: a suite an input, a test case a rule; a finding at or over the threshold is its failure.
[[nodiscard]] std::string report_junit(const ReportSource& source);
/// Workflow commands of GitHub Actions: an annotation a finding that counts.
[[nodiscard]] std::string report_github(const ReportSource& source);
/// GitHub's Markdown, for a job's summary page.
[[nodiscard]] std::string report_markdown(const ReportSource& source);
/// One page that needs nothing else: findings, graphs drawn, contract coverage, what was not checked.
[[nodiscard]] std::string report_html(const ReportSource& source);

}  // namespace refrain
