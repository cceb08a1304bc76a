// refrain audit: files in, or a command that is run with the auditor inside it; one
// report or several and an exit code out. Of a command: its own exit code where that
// is not 0, else the report's; the report comes either way.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "audit/baseline.hpp"
#include "audit/batch.hpp"
#include "audit/reports/formats.hpp"
#include "audit/suppressions.hpp"
#include "cli/audit_flags.hpp"
#include "cli/command.hpp"
#include "cli/inject_library.hpp"
#include "cli/live_run.hpp"
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

/// The judging, once the recordings are there.
int report_on(const AuditFlags& flags, std::span<const BatchInput> inputs) {
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
  Batch batch = audit_files(inputs, {flags.jobs, covers, contracts, kept_by(wanted), line.progress()});
  Report& report = batch.report;
  apply_suppressions(report, suppressions, today(), flags.suppress);
  if (baseline) baseline->apply(report);
  ReportSource source{report, batch.subjects, flags.threshold, REFRAIN_VERSION};
  if (covers) source.coverage = &batch.coverage;
  source.explain = flags.explain;
  write_reports(wanted, source);
  return report.exit_code(flags.threshold);
}

/// The same in each run of the command: by number, not by process id.
std::vector<BatchInput> named_inputs(const AuditFlags& flags, const std::vector<std::filesystem::path>& files) {
  const std::string command = fmt::format("{}", fmt::join(flags.command, " "));
  std::vector<BatchInput> inputs;
  for (const std::filesystem::path& file : files)
    inputs.push_back({file.string(), files.size() == 1 ? command
                                                       : fmt::format("{}, recording {} of {}", command,
                                                                     inputs.size() + 1, files.size())});
  return inputs;
}

int audit_command(const AuditFlags& flags) {
  (void)wanted_reports(flags);  // a mistake of the command line is told before the command runs for an hour
  const InjectLibrary library = find_inject_library();
  if (!library.missing.empty()) {
    fmt::print(stderr, "refrain: {}\n", library.missing);
    return kExitCouldNotEstablish;
  }
  const TemporaryFolder own;
  const std::filesystem::path folder = flags.recordings.empty() ? own.path() : std::filesystem::path(flags.recordings);
  const LiveOutcome outcome = run_live(flags.command, flags.live, folder, library.path);
  print_problems(outcome);
  int code = kExitCouldNotEstablish;
  if (!outcome.recordings.empty()) code = report_on(flags, named_inputs(flags, outcome.recordings));
  if (outcome.exit_code != 0) return outcome.exit_code;
  return code == kExitClean && !outcome.could_listen() ? kExitCouldNotEstablish : code;
}

int run(const AuditFlags& flags) {
  if (!flags.command.empty() && !flags.files.empty())
    throw Error(ErrorKind::usage, "refrain audit", "expected files or a command behind --, found both", "");
  check_threshold(flags.threshold);
  return flags.command.empty() ? report_on(flags, inputs_of(flags.files)) : audit_command(flags);
}

}  // namespace

std::function<int()> declare_audit(Options app, const std::vector<std::string>& command) {
  auto flags = std::make_shared<AuditFlags>();
  flags->command = command;
  add_audit_flags(app, *flags);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
