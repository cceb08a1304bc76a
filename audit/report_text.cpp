#include <fmt/format.h>

#include "audit/report.hpp"
#include "audit/reports/escape.hpp"
#include "audit/reports/groups.hpp"
#include "audit/reports/lines.hpp"

namespace refrain {
namespace {

class TextReport : Lines {
 public:
  TextReport(const Report& report, bool colour) : report_(report), colour_(colour) {}

  std::string write() {
    for (const FindingGroup& group : open_findings(report_)) {
      line("{}\n", paint("1", fmt::format("== {} ==", group.title)));
      for (const Finding* finding : group.findings) write(*finding);
    }
    write_excused();
    write_not_checked();
    for (const std::string& remark : report_.remarks) line("remark: {}", visible(remark));
    line("{}; {} of {} without a contract", summary(report_), report_.unknown_nodes, plural(report_.nodes, "node"));
    return str();
  }

 private:
  [[nodiscard]] std::string paint(const char* code, std::string text) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  [[nodiscard]] std::string painted(Severity severity) const {
    const char* code = severity == Severity::error ? "1;31" : severity == Severity::warning ? "1;33" : "1;36";
    return paint(code, to_string(severity));
  }

  // Which of several inputs: a graph's name alone may stand in more than one.
  [[nodiscard]] std::string place(const Finding& finding) const {
    return visible(report_.inputs.size() > 1 ? fmt::format("{}: {}", finding.input, finding.where) : finding.where);
  }

  void write(const Finding& finding) {
    line("{} {} {}  {}", painted(finding.severity), finding.rule, finding.name, place(finding));
    line("    {}", visible(finding.message));
    for (const std::string& fact : finding.evidence) line("    - {}", visible(fact));
    line("    fix: {}\n", visible(finding.fix));
  }

  void write_excused() {
    const auto excused = excused_findings(report_);
    if (excused.empty()) return;
    line("does not count");
    for (const Finding* finding : excused) {
      const std::string reason = finding->excuse.empty() ? "" : fmt::format(" ({})", visible(finding->excuse));
      line("    {}: {} {} {}  {}{}", to_string(finding->standing), to_string(finding->severity), finding->rule,
           finding->name, place(*finding), reason);
    }
    line("");
  }

  void write_not_checked() {
    if (report_.not_checked().empty()) return;
    line("not checked");
    for (const ReasonRules& item : not_checked_by_reason(report_)) line("    {}: {}", item.rules, visible(item.reason));
    line("");
  }

  const Report& report_;
  bool colour_;
};

}  // namespace

std::string report_text(const Report& report, bool colour) {
  return TextReport(report, colour).write();
}

}  // namespace refrain
