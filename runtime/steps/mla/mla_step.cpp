#include "runtime/steps/mla/mla_step.hpp"

#include <cmath>

#include "kernels/mla_oracle.hpp"
#include "runtime/steps/mla/poison.hpp"
#include "runtime/steps/mla/record.hpp"

namespace refrain {

MlaStep::MlaStep(Driver& driver, BufferRegistry& registry, Arena& arena, const StepOptions& options)
    : Step(options), buffers_(driver, registry, arena, options), inputs_(make_mla_inputs(options)) {}

void MlaStep::prepare(Recorder& recorder) const {
  prepare_sparse_mla(recorder, buffers_);
}

void MlaStep::record(Recorder& recorder) const {
  record_sparse_mla(recorder, buffers_);
}

void MlaStep::break_after_capture(RecordingDriver&) {
  if (buffers_.unguarded) buffers_.unguarded->grow();
}

std::vector<PoisonAxis> MlaStep::poison_axes() const {
  return mla_axes(buffers_, inputs_);
}

void MlaStep::poison_page0(Driver& driver, Poison poison) const {
  poison_mla_page0(driver, buffers_, poison);
}

// From the host's arrays: the step writes nothing of what it attends.
std::vector<double> MlaStep::reference(Driver&) const {
  const StepOptions& o = options();
  std::vector<std::byte> pool = inputs_.pool;
  MlaProblem problem;
  problem.q = inputs_.q.data();
  problem.pool = mla_pool_shape(o);
  problem.pool.data = pool.data();
  problem.pool.pages -= inputs_.first_page;
  problem.heads = o.heads;
  problem.softmax_scale = 1.0 / std::sqrt(static_cast<double>(problem.pool.dim()));
  problem.sinks = o.sinks ? inputs_.sinks.data() : nullptr;
  std::vector<MlaOracleRow> rows;
  for (std::int32_t row = 0; row < o.rows; ++row) {
    std::vector<std::int64_t> slots = attended_slots(o, inputs_, row);
    for (std::int64_t& slot : slots) slot -= inputs_.first_page * o.page_size;
    rows.push_back({row, std::move(slots)});
  }
  return mla_oracle(problem, rows).out;
}

}  // namespace refrain
