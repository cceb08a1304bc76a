#include "runtime/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "audit/audit.hpp"
#include "kernels/attention_oracle.hpp"
#include "runtime/pointer_watch.hpp"
#include "runtime/session.hpp"
#include "runtime/steps/step.hpp"

namespace refrain {
namespace {

Output replay(Session& s, GraphExec& exec, const RunOptions& options, ReplaySummary& summary) {
  Output first, last;
  for (summary.count = 0; summary.count < options.replays; ++summary.count) {
    apply_poison(s.driver, s.buffers, s.inputs, options.poison);
    {
      const auto step = s.driver.step(to_string(options.step.step), static_cast<std::uint64_t>(options.step.rows));
      exec.launch(s.stream);
      check(s.driver.synchronize(s.stream), "cudaStreamSynchronize");
    }
    last = read_output(s.driver, s.buffers.options, s.buffers.output);
    if (summary.count == 0) first = last;
    summary.bit_equal = summary.bit_equal && same_bits(first, last);
  }
  return last;
}

/// Every row through XQA, eagerly, in buffers of its own.
Output run_xqa_route(Session& s) {
  const StepOptions& o = s.buffers.options;
  const XqaBuffers xqa = lease_xqa(s.arena, o, o.bucket_rows(), 0, Dtype::fp32);
  const OutputBuffers output = lease_output(s.arena, o);
  Recorder eager(s.driver, s.registry, s.stream);
  record_xqa_route(eager, s.buffers, xqa, output, FaultSet{});
  check(s.driver.synchronize(s.stream), "cudaStreamSynchronize");
  return read_output(s.driver, o, output);
}

std::vector<double> run_oracle(Session& s) {
  const StepOptions& o = s.buffers.options;
  std::vector<std::byte> pool(s.inputs.pool.size());
  read_device(s.driver, pool, s.buffers.pool.lease().address());
  OracleProblem problem;
  problem.q = s.inputs.q.data();
  problem.q_dtype = o.q_dtype();
  problem.pool = s.buffers.pool.view();
  problem.pool.data = pool.data();
  problem.rows = o.rows;
  problem.heads = kHeads;
  problem.softmax_scale = 1.0 / std::sqrt(static_cast<double>(kHeadDim));
  std::vector<OracleRow> rows;
  for (std::int32_t row = 0; row < o.rows; ++row) {
    const auto request = static_cast<std::size_t>(s.inputs.token_to_req[static_cast<std::size_t>(row)]);
    const auto width = static_cast<std::size_t>(s.inputs.pages_per_request);
    rows.push_back(
        {row, attended_tokens(s.inputs, row), std::span(s.inputs.page_table).subspan(request * width, width)});
  }
  return attention_oracle(problem, rows).out;
}

ReplaySummary replay_and_compare(Session& s, const Captured& captured, const RunOptions& options) {
  const StepOptions& o = s.buffers.options;
  ReplaySummary summary;
  GraphExec exec(s.driver, s.arena, captured, s.stream);
  summary.output = replay(s, exec, options, summary);
  summary.nan = find_nans(o, summary.output);
  const std::vector<double> oracle = run_oracle(s);
  const Output xqa = run_xqa_route(s);
  summary.max_abs_error_reference =
      max_abs_error(o, summary.output, [&](std::int64_t i) { return oracle[static_cast<std::size_t>(i)]; });
  summary.max_abs_error_xqa = max_abs_error(o, summary.output, xqa);
  return summary;
}

}  // namespace

std::string dangling_pointer(const Report& report) {
  constexpr std::array<std::string_view, 5> kRules = {"RF206", "RF401", "RF402", "RF403", "RF404"};
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
  Session session(driver, options.step);
  Recorder recorder(session.driver, session.registry, session.stream);
  RunResult result;
  result.options = options;
  result.device = driver.device();
  std::optional<Captured> captured = session.capture(recorder, result.refused);
  if (captured) {
    break_after_capture(session.driver, session.buffers);
    PointerWatch watch(captured->graph);
    watch.check(session.driver);
    result.graph = captured->graph;
    result.refused = dangling_pointer(audit(Subject{{session.recording()}}));
    if (result.refused.empty()) result.replay = replay_and_compare(session, *captured, options);
    watch.check(session.driver);
  }
  result.recording = session.recording();
  const Subject subject{{result.recording}};
  result.audit = audit(subject);
  return result;
}

}  // namespace refrain
