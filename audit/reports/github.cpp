// `::error title=RF103 pageable-copy,file=serve.py,line=12::message`: GitHub Actions turns such lines of a job's output
// into annotations. It shows ten a kind and step; the full report is the Markdown or the SARIF one.
#include <fmt/format.h>

#include <iterator>

#include "audit/reports/escape.hpp"
#include "audit/reports/formats.hpp"
#include "audit/reports/groups.hpp"
#include "audit/reports/places.hpp"

namespace refrain {
namespace {

const char* command(Severity severity) {
  return severity == Severity::note ? "notice" : to_string(severity);
}

}  // namespace

std::string report_github(const ReportSource& source) {
  const Report& report = source.report;
  const Places places(source.subjects);
  fmt::memory_buffer out;
  const auto to = std::back_inserter(out);
  for (const FindingGroup& group : open_findings(report))
    for (const Finding* finding : group.findings) {
      const auto site = places.call_site(*finding);
      const std::string file = site ? fmt::format(",file={},line={}", github_property(site->file), site->line)
                                    : fmt::format(",file={}", github_property(finding->input));
      fmt::format_to(to, "::{} title={} {}{}::{}: {}. Fix: {}\n", command(finding->severity), finding->rule,
                     finding->name, finding->input.empty() && !site ? "" : file, github_message(finding->where),
                     github_message(finding->message), github_message(finding->fix));
    }
  for (const std::string& remark : report.remarks)
    fmt::format_to(to, "::warning title=refrain audit::{}\n", github_message(remark));
  for (const Finding* finding : excused_findings(report))
    fmt::format_to(to, "{}: {} {}  {}{}\n", to_string(finding->standing), finding->rule, finding->name,
                   github_message(finding->where),
                   finding->excuse.empty() ? "" : fmt::format(" ({})", github_message(finding->excuse)));
  for (const ReasonRules& item : not_checked_by_reason(report))
    fmt::format_to(to, "not checked: {}: {}\n", item.rules, github_message(item.reason));
  fmt::format_to(to, "{}; {} of {} without a contract\n", summary(report), report.unknown_nodes,
                 plural(report.nodes, "node"));
  return fmt::to_string(out);
}

}  // namespace refrain
