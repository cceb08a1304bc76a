// One step of an attention-only model as a list of launches: the stream from embedding
// to tokens in attention_only_step.cpp, the three kinds of attention in
// attention_only_kinds.cpp. Plain borrowing: it lives for one prepare() or record() and
// owns nothing.
#pragma once

#include "kernels/convert.hpp"
#include "kernels/gemm_plans.hpp"
#include "kernels/grouped_attention.hpp"
#include "kernels/kv_append.hpp"
#include "kernels/page_split.hpp"
#include "kernels/sparse_mla.hpp"
#include "runtime/model/attention_only_memory.hpp"

namespace refrain {

class AttentionOnlyStep {
 public:
  /// `plans` is null where gemm takes none, on the host driver.
  AttentionOnlyStep(const AttentionOnlyShape& shape, const ServingLimits& limits, const AttentionOnlyMemory& memory,
                    GemmPlans* plans, const StepShape& step)
      : shape_(shape), limits_(limits), memory_(memory), x_(memory.of(step.phase)), plans_(plans), step_(step) {}

  /// Enqueues each GEMM of the step once, on scratch as it is: the first launch of a plan loads its kernels.
  void run_gemms_once(Driver& driver, Stream stream) const;
  /// Fills what the step's ops may read of scratch that none of them has written.
  void fill_scratch(Recorder& recorder) const;
  void record(Recorder& recorder, const StepPlaces& places) const;

 private:
  /// A layer at work: which of its kind it is counts the sets of counters.
  struct At {
    const AttentionOnlyLayer& layer;
    LayerGeometry geometry;
    std::int32_t of_kind = 0;
  };
  [[nodiscard]] At at(std::size_t number) const;

  [[nodiscard]] GemmArgs project_in(const At& at, const Lease& w, std::int32_t heads, const Lease& out) const;
  [[nodiscard]] GemmArgs project_out(const At& at) const;
  [[nodiscard]] GemmArgs head_gemm() const;
  /// Whether the layer's activations have another format than the residual stream.
  [[nodiscard]] bool converts(const At& at) const { return at.geometry.dtype != shape_.dtype(); }
  [[nodiscard]] ConvertArgs convert_in(const At& at) const;
  [[nodiscard]] ConvertArgs convert_out(const At& at) const;

  void norm(Recorder& recorder, const StepPlaces& places, const Lease& weight, bool first) const;
  void plan(Recorder& recorder, const StepPlaces& places) const;
  void run_layer(Recorder& recorder, const StepPlaces& places, std::size_t number) const;

  void plan_dense(Recorder& recorder, const StepPlaces& places) const;
  void plan_sparse(Recorder& recorder, const StepPlaces& places) const;
  void plan_mla(Recorder& recorder, const StepPlaces& places) const;
  void attend_pages(Recorder& recorder, const StepPlaces& places, const At& at) const;
  void attend_grouped(Recorder& recorder, const At& at) const;
  void attend_xqa(Recorder& recorder, const StepPlaces& places, const At& at) const;
  void attend_mla(Recorder& recorder, const StepPlaces& places, const At& at) const;

  /// Rows that XQA serves in a layer of the kind.
  [[nodiscard]] std::int32_t slots(LayerKind kind) const;
  [[nodiscard]] PlanXqaArgs xqa_plan(LayerKind kind, const XqaPlan& plan, const StepPlaces& places) const;
  [[nodiscard]] KvPoolView pool_of(const At& at) const;
  [[nodiscard]] MlaPoolView mla_pool_of(const At& at) const;
  [[nodiscard]] MlaPoolView split_scratch() const;
  [[nodiscard]] SparseMlaArgs mla_args(const StepPlaces& places, const At& at) const;

  const AttentionOnlyShape& shape_;
  const ServingLimits& limits_;
  const AttentionOnlyMemory& memory_;
  const AttentionOnlyScratch& x_;
  GemmPlans* plans_;
  StepShape step_;
};

}  // namespace refrain
