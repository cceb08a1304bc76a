#include "audit/reports/formats.hpp"

#include <nlohmann/json.hpp>

namespace refrain {
namespace {

std::string text_of(const ReportSource& source) {
  const std::string coverage = source.coverage != nullptr ? coverage_text(*source.coverage, source.explain) : "";
  return coverage + report_text(source.report, source.colour);
}

std::string json_of(const ReportSource& source) {
  std::string text = report_json(source.report, source.threshold);
  if (source.coverage == nullptr) return text;
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
  json["coverage"] = nlohmann::ordered_json::parse(coverage_json(*source.coverage));
  return json.dump(2) + "\n";
}

constexpr ReportFormat kFormats[] = {
    {"text", "for a terminal or a log", Keep::none, text_of},
    {"json", "refrain.audit/1, also what --baseline reads", Keep::none, json_of},
    {"sarif", "SARIF 2.1.0, for code scanning", Keep::with_findings, report_sarif},
    {"junit", "JUnit XML: a test case a rule and input", Keep::none, report_junit},
    {"github", "annotations of GitHub Actions", Keep::with_findings, report_github},
    {"markdown", "for a job's summary page", Keep::none, report_markdown},
    {"html", "one page with the graph drawn", Keep::all, report_html},
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
