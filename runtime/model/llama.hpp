// A small Llama-shaped decoder with random weights behind the engine's Model: dense
// attention over a paged KV cache, one plan for all layers of a step. A prefill row goes
// through the same ops as a decode row, each a slot of its own.
//
// Invariant: a row's bits depend on its request alone. No op mixes rows, and a row's own
// length says how the attention splits it (kernels/xqa_splits.hpp), so batch, bucket,
// page numbers and the cuts of a chunked prompt change nothing. On a GPU that holds within
// a bucket and among those of up to 16 rows; for each larger one cuBLASLt chooses an
// algorithm, and between them a GEMM's sums may round apart.
#pragma once

#include <memory>

#include "runtime/model/llama_memory.hpp"

namespace refrain {

class GemmPlans;

class LlamaModel final : public Model {
 public:
  /// Leases all that the model needs; registry and arena outlive it. Throws Error{usage} with unfit()'s line, and
  /// Error{refused} when the arena is full.
  LlamaModel(const BufferRegistry& registry, Arena& arena, const LlamaShape& shape, const ServingLimits& limits);
  ~LlamaModel() override;

  /// What the leases take of an arena, to the byte.
  [[nodiscard]] static ArenaSize arena_size(const LlamaShape& shape, const ServingLimits& limits);

  [[nodiscard]] std::string name() const override;
  [[nodiscard]] const ServingLimits& limits() const noexcept override { return limits_; }
  [[nodiscard]] std::int32_t vocabulary() const noexcept override { return shape_.vocab; }
  [[nodiscard]] std::int32_t page_size() const noexcept override { return shape_.page_size; }

  [[nodiscard]] std::string refusal(const StepShape& step) const override;
  [[nodiscard]] StepKey key(const StepShape& step) const override;

  void load(Driver& driver) override;
  void prepare(Recorder& recorder, const StepShape& step) override;
  /// Decode and prefill: greedy rows are those of temperature 0. Verify is greedy.
  void record(Recorder& recorder, const StepShape& step, const StepPlaces& places) override;

  [[nodiscard]] const LlamaShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const LlamaMemory& memory() const noexcept { return memory_; }

 private:
  const BufferRegistry& registry_;
  LlamaShape shape_;
  ServingLimits limits_;
  LlamaMemory memory_;
  std::unique_ptr<GemmPlans> gemm_plans_;  // on a GPU, from the first prepare() on
};

}  // namespace refrain
