#include "runtime/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "audit/audit.hpp"
#include "runtime/auditor_link.hpp"
#include "runtime/pointer_watch.hpp"
#include "runtime/session.hpp"

namespace refrain {
namespace {

Output replay(Session& s, GraphExec& exec, const RunOptions& options, ReplaySummary& summary) {
  Output first, last;
  for (summary.count = 0; summary.count < options.replays; ++summary.count) {
    apply_poison(s.driver, *s.step, options.poison);
    {
      const auto step = s.driver.step(to_string(s.step->options().step), row_counts(s.step->options()));
      exec.launch(s.stream);
      check(s.driver.synchronize(s.stream), "cudaStreamSynchronize");
    }
    last = read_output(s.driver, s.step->outputs());
    if (summary.count == 0) first = last;
    summary.bit_equal = summary.bit_equal && same_bits(first, last);
  }
  return last;
}

ReplaySummary replay_and_compare(Session& s, const Captured& captured, const RunOptions& options) {
  ReplaySummary summary;
  GraphExec exec(s.driver, s.arena, captured, s.stream);
  summary.output = replay(s, exec, options, summary);
  summary.nan = find_nans(summary.output);
  const std::vector<double> reference = s.step->reference(s.driver);
  summary.max_abs_error_reference =
      max_abs_error(summary.output, [&](std::int64_t i) { return reference[static_cast<std::size_t>(i)]; });
  Recorder eager(s.driver, s.registry, s.stream);
  if (const auto other = s.step->other_route(eager)) {
    summary.has_other_route = true;
    summary.max_abs_error_xqa = max_abs_error(summary.output, *other);
  }
  return summary;
}

}  // namespace

std::string dangling_pointer(const Report& report) {
  constexpr std::array<std::string_view, 6> kRules = {"RF206", "RF401", "RF402", "RF403", "RF404", "RF408"};
  for (const Finding& finding : report.findings())
    if (finding.severity == Severity::error && std::find(kRules.begin(), kRules.end(), finding.rule) != kRules.end())
      return fmt::format("refused before replay: {} {}, {}", finding.rule, finding.name, finding.where);
  return {};
}

int RunResult::exit_code() const {
  const bool nan = replay && replay->nan.count > 0;
  return nan || audit.count(Severity::error) > 0 ? 1 : 0;
}

RunResult run_step(Driver& driver, const RunOptions& options) {
  if (options.replays < 1 || options.replays > 1'000'000)
    throw Error(ErrorKind::usage, "--replays", fmt::format("expected 1 to 1000000, found {}", options.replays), "");
  AuditWindow window;  // as long as the recording
  Session session(driver, options.step);
  Recorder recorder(session.driver, session.registry, session.stream);
  RunResult result;
  result.options = options;
  result.options.step = session.step->options();
  result.device = driver.device();
  std::optional<Captured> captured = session.capture(recorder, result.refused);
  if (captured) {
    session.step->break_after_capture(session.driver);
    PointerWatch watch(captured->graph);
    watch.check(session.driver);
    result.graph = captured->graph;
    result.refused = dangling_pointer(audit(Subject{{session.recording()}}));
    if (result.refused.empty()) result.replay = replay_and_compare(session, *captured, options);
    watch.check(session.driver);
  }
  result.recording = session.recording();
  window.close();
  const Subject subject{{result.recording}};
  result.audit = audit(subject);
  return result;
}

}  // namespace refrain
