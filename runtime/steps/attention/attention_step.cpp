#include "runtime/steps/attention/attention_step.hpp"

#include <cmath>

#include "kernels/attention_oracle.hpp"
#include "runtime/steps/attention/poison.hpp"
#include "runtime/steps/attention/record.hpp"

namespace refrain {

AttentionStep::AttentionStep(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& options,
                             std::array<float, 2> scales)
    : Step(options),
      arena_(arena),
      buffers_(driver, registry, arena, options),
      inputs_(make_inputs(options, buffers_.pages, scales)),
      side_(driver) {
  buffers_.side = side_;
}

void AttentionStep::prepare(Recorder& recorder) const {
  prepare_attention(recorder, buffers_);
}

void AttentionStep::record(Recorder& recorder) const {
  recorder.start_early(options().pdl);
  if (options().step == StepKind::grouped)
    record_grouped_prefill(recorder, buffers_);
  else
    record_xqa_decode(recorder, buffers_);
}

void AttentionStep::break_after_capture(RecordingDriver& driver) {
  refrain::break_after_capture(driver, buffers_);
}

std::vector<PoisonAxis> AttentionStep::poison_axes() const {
  return attention_axes(buffers_, inputs_);
}

void AttentionStep::poison_page0(Driver& driver, Poison poison) const {
  refrain::poison_page0(driver, buffers_, poison);
}

std::optional<Output> AttentionStep::other_route(Recorder& recorder) const {
  const StepOptions& o = options();
  const XqaBuffers xqa = lease_xqa(arena_, o, o.bucket_rows(), 0, Dtype::fp32);
  const OutputBuffers output = lease_output(arena_, o);
  record_xqa_route(recorder, buffers_, xqa, output, FaultSet{});
  check(recorder.driver().synchronize(recorder.stream()), "cudaStreamSynchronize");
  return read_output(recorder.driver(), output.tensors(o));
}

std::vector<double> AttentionStep::reference(Driver& driver) const {
  const StepOptions& o = options();
  std::vector<std::byte> pool(inputs_.pool.size());
  read_device(driver, pool, buffers_.pool.lease().address());
  OracleProblem problem;
  problem.q = inputs_.q.data();
  problem.q_dtype = o.q_dtype();
  problem.pool = buffers_.pool.view();
  problem.pool.data = pool.data();
  problem.rows = o.rows;
  problem.heads = kHeads;
  problem.k_scale = static_cast<double>(inputs_.scales[0]);
  problem.v_scale = static_cast<double>(inputs_.scales[1]);
  problem.softmax_scale = 1.0 / std::sqrt(static_cast<double>(kHeadDim));
  std::vector<OracleRow> rows;
  for (std::int32_t row = 0; row < o.rows; ++row) {
    const auto request = static_cast<std::size_t>(inputs_.token_to_req[static_cast<std::size_t>(row)]);
    const auto width = static_cast<std::size_t>(inputs_.pages_per_request);
    rows.push_back({row, attended_tokens(inputs_, row), std::span(inputs_.page_table).subspan(request * width, width)});
  }
  return attention_oracle(problem, rows).out;
}

}  // namespace refrain
