// One step of a Llama-shaped decoder as a list of launches. Plain borrowing: it lives
// for one prepare() or record() and owns nothing.
#pragma once

#include "kernels/gemm_plans.hpp"
#include "runtime/model/llama_memory.hpp"

namespace refrain {

class LlamaStep {
 public:
  /// `plans` is null where gemm takes none, on the host driver.
  LlamaStep(const LlamaShape& shape, const ServingLimits& limits, const LlamaMemory& memory, GemmPlans* plans,
            const StepShape& step)
      : shape_(shape), limits_(limits), memory_(memory), x_(memory.of(step.phase)), plans_(plans), step_(step) {}

  /// Enqueues each GEMM of the step once, on scratch as it is: the first launch of a plan loads its kernels.
  void run_gemms_once(Driver& driver, Stream stream) const;
  void record(Recorder& recorder, const StepPlaces& places) const;

 private:
  [[nodiscard]] GemmArgs linear(const Lease& a, const Lease& w, std::int32_t n, std::int32_t k, const Lease& out) const;
  [[nodiscard]] GemmArgs qkv_gemm(const LlamaLayer& layer) const;
  [[nodiscard]] GemmArgs o_gemm(const LlamaLayer& layer) const;
  [[nodiscard]] GemmArgs gate_up_gemm(const LlamaLayer& layer) const;
  [[nodiscard]] GemmArgs down_gemm(const LlamaLayer& layer) const;
  [[nodiscard]] GemmArgs head_gemm() const;

  void norm(Recorder& recorder, const StepPlaces& places, const Lease& weight, bool first) const;
  void plan(Recorder& recorder, const StepPlaces& places) const;
  void attend(Recorder& recorder, const StepPlaces& places, std::size_t number) const;
  void feed_forward(Recorder& recorder, const StepPlaces& places, const LlamaLayer& layer) const;

  [[nodiscard]] KvPoolView pool_of(const LlamaLayer& layer) const;

  const LlamaShape& shape_;
  const ServingLimits& limits_;
  const LlamaMemory& memory_;
  const LlamaScratch& x_;
  GemmPlans* plans_;
  StepShape step_;
};

}  // namespace refrain
