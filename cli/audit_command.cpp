// refrain audit: files in, one report and an exit code out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "audit/audit.hpp"
#include "cli/command.hpp"
#include "graphs/error.hpp"
#include "traces/readers.hpp"

namespace refrain {
namespace {

struct AuditFlags {
  std::vector<std::string> files;
  Threshold threshold;
  Format format = Format::text;
};

const std::map<std::string, Severity> kSeverities{
    {"error", Severity::error}, {"warning", Severity::warning}, {"note", Severity::note}};

int run(const AuditFlags& flags) {
  const std::vector<std::string> unknown = unknown_rules(flags.threshold.require);
  if (!unknown.empty())
    throw Error(ErrorKind::usage, fmt::format("--require {}", fmt::join(unknown, ",")),
                "no such rule; see refrain rules", "");
  Subject subject;
  for (const std::string& file : flags.files) subject.recordings.push_back(load_recording(file));
  const Report report = audit(subject);
  fmt::print("{}", flags.format == Format::json ? report_json(report, flags.threshold) : report_text(report));
  return report.exit_code(flags.threshold);
}

}  // namespace

std::function<int()> declare_audit(CLI::App& app) {
  auto flags = std::make_shared<AuditFlags>();
  app.add_option("files", flags->files,
                 "recordings: refrain.recording/1, plain or gzip; or graphs: refrain.graph/1 JSON, or dumps of "
                 "cudaGraphDebugDotPrint")
      ->required();
  app.add_option("--require", flags->threshold.require, "rules that must have been checked, else exit 3")
      ->delimiter(',');
  app.add_option("--fail-on", flags->threshold.fail_on, "error, warning or note: exit 1 from this severity on")
      ->transform(CLI::CheckedTransformer(kSeverities).description(""));
  add_format(app, flags->format);
  return [flags] { return run(*flags); };
}

}  // namespace refrain
