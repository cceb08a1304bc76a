// refrain audit: files in, one report or several and an exit code out.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "audit/baseline.hpp"
#include "audit/batch.hpp"
#include "audit/reports/formats.hpp"
#include "audit/suppressions.hpp"
#include "cli/audit_flags.hpp"
#include "cli/command.hpp"
#include "cli/progress_line.hpp"
#include "cli/save_text.hpp"
#include "cli/threshold_flags.hpp"
#include "graphs/error.hpp"
#include "runtime/scales/json_text.hpp"

namespace refrain {
namespace {

struct Wanted {
  const ReportFormat* format = nullptr;
  std::string file;  ///< empty = standard output
};

std::vector<Wanted> wanted_reports(const AuditFlags& flags) {
  std::vector<Wanted> wanted{{find_report_format(flags.format), flags.output}};
  for (const std::string& report : flags.reports) {
    const std::size_t equals = report.find('=');
    const ReportFormat* format = find_report_format(report.substr(0, equals));
    if (equals == std::string::npos || equals + 1 == report.size() || format == nullptr)
      throw Error(ErrorKind::usage, fmt::format("--report {}", report),
                  fmt::format("expected FORMAT=FILE with a format of {}", report_format_names()), "");
    wanted.push_back({format, report.substr(equals + 1)});
  }
  if (!flags.write_baseline.empty()) wanted.push_back({find_report_format("json"), flags.write_baseline});
  return wanted;
}

Keep kept_by(const std::vector<Wanted>& wanted) {
  Keep keep = Keep::none;
  for (const Wanted& report : wanted) keep = std::max(keep, report.format->keep);
  return keep;
}

void write_reports(const std::vector<Wanted>& wanted, ReportSource source) {
  for (const Wanted& report : wanted) {
    source.colour = report.file.empty() && wants_colour();
    print_or_save(report.file, report.format->write(source));
  }
}

int run(const AuditFlags& flags) {
  check_threshold(flags.threshold);
  const std::vector<Wanted> wanted = wanted_reports(flags);
  std::vector<Suppression> suppressions;
  if (!flags.suppress.empty()) suppressions = read_suppressions(read_json(InputFile(flags.suppress)), flags.suppress);
  std::unique_ptr<Baseline> baseline;
  if (!flags.baseline.empty())
    baseline = std::make_unique<Baseline>(read_json(InputFile(flags.baseline)), flags.baseline);

  std::vector<ContractFile> contracts;
  for (const std::string& file : flags.contracts) contracts.push_back(load_contracts(file));

  const bool covers = !contracts.empty() || flags.explain;
  ProgressLine line;
  Batch batch = audit_files(flags.files, {flags.jobs, covers, contracts, kept_by(wanted), line.progress()});
  Report& report = batch.report;
  apply_suppressions(report, suppressions, today(), flags.suppress);
  if (baseline) baseline->apply(report);
  ReportSource source{report, batch.subjects, flags.threshold, REFRAIN_VERSION};
  if (covers) source.coverage = &batch.coverage;
  source.explain = flags.explain;
  write_reports(wanted, source);
  return report.exit_code(flags.threshold);
}

}  // namespace

std::function<int()> declare_audit(CLI::App& app) {
  auto flags = std::make_shared<AuditFlags>();
  add_audit_flags(app, *flags);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
