#include "audit/reports/formats.hpp"

namespace refrain {
namespace {

constexpr ReportFormat kFormats[] = {
    {"text", "for a terminal or a log", [](const ReportSource& s) { return report_text(s.report, s.colour); }},
    {"json", "refrain.audit/1, also what --baseline reads",
     [](const ReportSource& s) { return report_json(s.report, s.threshold); }},
    {"sarif", "SARIF 2.1.0, for code scanning", report_sarif},
    {"junit", "JUnit XML: a test case a rule and input", report_junit},
    {"github", "annotations of GitHub Actions", report_github},
    {"markdown", "for a job's summary page", report_markdown},
    {"html", "one page with the graph drawn", report_html},
};

}  // namespace

std::span<const ReportFormat> report_formats() {
  return kFormats;
}

const ReportFormat* find_report_format(std::string_view name) {
  for (const ReportFormat& format : kFormats)
    if (name == format.name) return &format;
  return nullptr;
}

std::string report_format_names() {
  std::string names;
  for (const ReportFormat& format : kFormats) {
    if (!names.empty()) names += ", ";
    names += format.name;
  }
  return names;
}

}  // namespace refrain
