#include "cli/audit_flags.hpp"

#include <fmt/format.h>

#include "audit/reports/formats.hpp"
#include "cli/threshold_flags.hpp"

namespace refrain {
namespace {

std::string known_format(const std::string& name) {
  return find_report_format(name) != nullptr ? std::string()
                                             : fmt::format("expected one of {}, found {}", report_format_names(), name);
}

}  // namespace

void add_audit_flags(Options app, AuditFlags& flags) {
  const Option files = app.add_option(
      "files", flags.files,
      "recordings: refrain.recording/1, plain or gzip; traces: SQLite exports of Nsight Systems, traces of "
      "PyTorch's profiler; or graphs: refrain.graph/1 JSON, or dumps of cudaGraphDebugDotPrint; none where a "
      "command stands behind --");
  // An option that takes a list leaves the last word to what is required.
  if (flags.command.empty()) files.required();
  app.footer("after --: a command to run and audit, e.g. refrain audit -- python3 serve.py");
  add_threshold(app, flags.threshold);
  app.add_option("--format", flags.format, report_format_names()).check(known_format);
  app.add_option("--output", flags.output, "write the report to this file, whole or not at all");
  app.add_option("--report", flags.reports, "FORMAT=FILE: one more report, e.g. sarif=audit.sarif; may be repeated");
  app.add_option("--jobs", flags.jobs, "inputs read and audited at a time; one a core unless said").positive();
  app.add_option("--contracts", flags.contracts,
                 "refrain.contracts/1: what kernels of others do with their parameters; may be given again")
      .one_value_each();
  app.add_flag("--explain", flags.explain, "which nodes have a contract and from where, and which are unknown");
  app.add_option("--baseline", flags.baseline, "a JSON report of an earlier run: what stands there is known");
  app.add_option("--write-baseline", flags.write_baseline, "write this run's JSON report for --baseline");
  add_live_flags(app, flags.live);
  app.add_option("--recordings", flags.recordings, "of a command: keep its recordings in this folder");
  app.add_option("--suppress", flags.suppress,
                 "a JSON list of findings that may stand: rule, fingerprint or where, with a reason and a last day");
}

}  // namespace refrain
