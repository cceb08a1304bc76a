#include "runtime/run.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <set>

#include "audit/audit.hpp"
#include "kernels/attention_oracle.hpp"
#include "kernels/codec.hpp"
#include "runtime/capture.hpp"
#include "runtime/recording_driver.hpp"
#include "runtime/steps/step.hpp"

namespace refrain {
namespace {

/// What one run owns, in the order in which it must be made.
struct Session {
  Session(Driver& inner, const StepOptions& options)
      : driver(inner, clock),
        registry(clock),
        arena(driver, registry, StepBuffers::arena_bytes(options)),
        buffers(arena, options),
        inputs(make_inputs(options, buffers.pages)) {
    check(driver.create_stream(stream), "cudaStreamCreateWithFlags");
    buffers.upload(driver, inputs);
  }
  ~Session() { (void)driver.destroy_stream(stream); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  SequenceClock clock;
  RecordingDriver driver;
  BufferRegistry registry;
  Arena arena;
  StepBuffers buffers;
  StepInputs inputs;
  Stream stream;
};

CaptureInfo capture_info(const StepOptions& o) {
  CaptureInfo info;
  info.phase = o.step == StepKind::grouped_prefill ? "prefill" : "decode";
  info.bucket = fmt::format("rows={} page_size={} kv={}", o.bucket_rows(), o.page_size, to_string(o.kv));
  return info;
}

Captured capture_step(Session& s, Recorder& recorder) {
  CaptureScope scope(recorder, CaptureMode::global);
  record_step(recorder, s.buffers);
  return scope.finish(to_string(s.buffers.options.step), capture_info(s.buffers.options));
}

struct Output {
  std::vector<std::byte> out;
  std::vector<float> lse;
};

Output read_output(Session& s, const OutputBuffers& from) {
  const auto row_heads = static_cast<std::size_t>(s.buffers.options.bucket_rows()) * kHeads;
  Output output{std::vector<std::byte>(row_heads * kHeadDim * dtype_bytes(s.buffers.options.q_dtype())),
                std::vector<float>(row_heads)};
  read_device(s.driver, output.out, from.out.address());
  read_device(s.driver, std::as_writable_bytes(std::span(output.lse)), from.lse.address());
  return output;
}

bool same_bits(const Output& a, const Output& b) {
  return a.out == b.out && std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

Output replay(Session& s, GraphExec& exec, const RunOptions& options, ReplaySummary& summary) {
  Output first, last;
  for (summary.count = 0; summary.count < options.replays; ++summary.count) {
    apply_poison(s.driver, s.buffers, s.inputs, options.poison);
    exec.launch(s.stream);
    check(s.driver.synchronize(s.stream), "cudaStreamSynchronize");
    last = read_output(s, s.buffers.output);
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
  return read_output(s, output);
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

void count_nans(const StepOptions& o, const Output& output, ReplaySummary& summary) {
  std::set<std::int32_t> dims, rows;
  for (std::int32_t row = 0; row < o.rows; ++row)
    for (std::int32_t i = 0; i < kHeads * kHeadDim; ++i) {
      const std::int64_t element = std::int64_t{row} * kHeads * kHeadDim + i;
      if (!std::isnan(load_as_float(output.out.data(), o.q_dtype(), element))) continue;
      ++summary.nan_count;
      dims.insert(i % kHeadDim);
      rows.insert(row);
    }
  summary.nan_dims.assign(dims.begin(), dims.end());
  summary.nan_rows.assign(rows.begin(), rows.end());
}

/// `reference(i)` for element i of the real rows.
template <class Reference>
std::optional<double> max_abs_error(const StepOptions& o, const Output& output, Reference reference) {
  std::optional<double> worst;
  for (std::int64_t i = 0; i < std::int64_t{o.rows} * kHeads * kHeadDim; ++i) {
    const double error = std::abs(static_cast<double>(load_as_float(output.out.data(), o.q_dtype(), i)) - reference(i));
    if (std::isfinite(error)) worst = std::max(worst.value_or(0.0), error);
  }
  return worst;
}

ReplaySummary replay_and_compare(Session& s, const Captured& captured, const RunOptions& options) {
  const StepOptions& o = s.buffers.options;
  ReplaySummary summary;
  GraphExec exec(s.driver, s.arena, captured, s.stream);
  Output last = replay(s, exec, options, summary);
  count_nans(o, last, summary);
  const std::vector<double> oracle = run_oracle(s);
  const Output xqa = run_xqa_route(s);
  summary.max_abs_error_reference =
      max_abs_error(o, last, [&](std::int64_t i) { return oracle[static_cast<std::size_t>(i)]; });
  summary.max_abs_error_xqa = max_abs_error(
      o, last, [&](std::int64_t i) { return static_cast<double>(load_as_float(xqa.out.data(), o.q_dtype(), i)); });
  summary.out = std::move(last.out);
  summary.lse = std::move(last.lse);
  return summary;
}

}  // namespace

int RunResult::exit_code() const {
  const bool nan = replay && replay->nan_count > 0;
  return nan || audit.count(Severity::error) > 0 ? 1 : 0;
}

RunResult run_step(Driver& driver, const RunOptions& options) {
  validate(options.step);
  if (options.replays < 1 || options.replays > 1'000'000)
    throw Error(ErrorKind::usage, "--replays", fmt::format("expected 1 to 1000000, found {}", options.replays), "");
  RunResult result;
  result.options = options;
  result.device = driver.device();
  Session session(driver, options.step);
  Recorder recorder(session.driver, session.registry, session.stream);
  prepare_step(recorder, session.buffers);
  std::optional<Captured> captured;
  try {
    captured.emplace(capture_step(session, recorder));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::driver) throw;
    result.capture_error = error.what();
  }
  if (captured) session.driver.add_graph(captured->handle(), captured->graph);
  const Subject subject{{session.driver.recording(to_string(options.step.step), session.registry)}};
  result.audit = audit(subject);
  if (!captured) return result;
  result.replay = replay_and_compare(session, *captured, options);
  result.graph = std::move(captured->graph);
  return result;
}

}  // namespace refrain
