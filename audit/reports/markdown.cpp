// For `$GITHUB_STEP_SUMMARY` and merge request comments: a table of the findings, each with its facts and fix folded
// below. What comes from the input is quoted, so that no name becomes a link, a mention or markup.
#include <fmt/format.h>

#include "audit/reports/escape.hpp"
#include "audit/reports/formats.hpp"
#include "audit/reports/groups.hpp"
#include "audit/reports/lines.hpp"

namespace refrain {
namespace {

class MarkdownReport : Lines {
 public:
  explicit MarkdownReport(const Report& report) : report_(report) {}

  std::string write() {
    line("## Refrain audit: {}\n", markdown(summary(report_)));
    line("{} of {} without a contract. Inputs:\n", report_.unknown_nodes, plural(report_.nodes, "node"));
    for (const std::string& input : report_.inputs) line("- {}", markdown(input));
    line("");
    for (const FindingGroup& group : open_findings(report_)) write(group);
    write_excused();
    write_not_checked();
    for (const std::string& remark : report_.remarks) line("> {}\n", markdown(remark));
    return str();
  }

 private:
  void write(const FindingGroup& group) {
    line("### {}\n\n| severity | rule | input | where |\n|---|---|---|---|", group.title);
    for (const Finding* finding : group.findings)
      line("| {} | {} {} | {} | {} |", to_string(finding->severity), finding->rule, finding->name,
           markdown(finding->input), markdown(finding->where));
    line("");
    for (const Finding* finding : group.findings) {
      line("<details><summary>{} {}</summary>\n", finding->rule, finding->name);
      line("{}\n\n{}\n", markdown(finding->where), markdown(finding->message));
      for (const std::string& fact : finding->evidence) line("- {}", markdown(fact));
      line("{}**Fix:** {}\n\nFingerprint {}, {}.\n\n</details>\n", finding->evidence.empty() ? "" : "\n",
           markdown(finding->fix), finding->fingerprint, to_string(finding->certainty));
    }
  }

  void write_excused() {
    const auto excused = excused_findings(report_);
    if (excused.empty()) return;
    line("### Does not count\n\n| standing | rule | input | where | reason |\n|---|---|---|---|---|");
    for (const Finding* finding : excused)
      line("| {} | {} {} | {} | {} | {} |", to_string(finding->standing), finding->rule, finding->name,
           markdown(finding->input), markdown(finding->where), markdown(finding->excuse));
    line("");
  }

  void write_not_checked() {
    if (report_.not_checked().empty()) return;
    line("<details><summary>Not checked</summary>\n\n| rules | reason |\n|---|---|");
    for (const ReasonRules& item : not_checked_by_reason(report_))
      line("| {} | {} |", item.rules, markdown(item.reason));
    line("\n</details>\n");
  }

  const Report& report_;
};

}  // namespace

std::string report_markdown(const ReportSource& source) {
  return MarkdownReport(source.report).write();
}

}  // namespace refrain
