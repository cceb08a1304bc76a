// A model of attention layers alone, with random weights, behind the engine's Model:
// dense, sparse and MLA layers in turn, so that one step runs every attention kernel.
// No feed-forward, no position encoding: order is seen through causality and through
// what the layers select. Selection is a policy of positions (select_recent.hpp); a
// model that learns it has an indexer there.
//
// Invariant: a row's values depend on its request alone. Its bits do so in decode and
// verify steps of up to kMlaDecodeRows rows, whatever the batch, bucket and page numbers.
// They do not in prefill: grouped_attention and sparse_mla_prefill round differently from
// XQA and the split decode, and which rows they get depends on how a prompt was cut into
// chunks, what else is in the chunk, and the bucket. Tokens of a prompt that went in by
// other chunks may therefore differ where two logits nearly tie; compare with a tolerance.
#pragma once

#include <memory>

#include "runtime/model/attention_only_memory.hpp"

namespace refrain {

class GemmPlans;

class AttentionOnlyModel final : public Model {
 public:
  /// Leases all that the model needs; registry and arena outlive it. Throws Error{usage} with unfit()'s line, and
  /// Error{refused} when the arena is full.
  AttentionOnlyModel(const BufferRegistry& registry, Arena& arena, const AttentionOnlyShape& shape,
                     const ServingLimits& limits);
  ~AttentionOnlyModel() override;

  /// What the leases take of an arena, to the byte.
  [[nodiscard]] static ArenaSize arena_size(const AttentionOnlyShape& shape, const ServingLimits& limits);

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

  [[nodiscard]] const AttentionOnlyShape& shape() const noexcept { return shape_; }
  [[nodiscard]] const AttentionOnlyMemory& memory() const noexcept { return memory_; }

 private:
  const BufferRegistry& registry_;
  AttentionOnlyShape shape_;
  ServingLimits limits_;
  AttentionOnlyMemory memory_;
  std::unique_ptr<GemmPlans> gemm_plans_;  // on a GPU, from the first prepare() on
};

}  // namespace refrain
