// What the steps of every model end with and go by: rows gathered for the head, tokens
// chosen from logits, and a GEMM's plan. Free functions over Args; no state.
#pragma once

#include "kernels/gemm_plans.hpp"
#include "runtime/arena.hpp"
#include "runtime/model/model.hpp"

namespace refrain {

/// With the plan of its shape and the workspace that the plan wants; as it is where `plans` is null. Asks cuBLASLt
/// where the shape is new, so not for the first time in a capture.
[[nodiscard]] GemmArgs with_plan(GemmArgs args, GemmPlans* plans, const Lease& workspace);

/// Rows that go through the head.
[[nodiscard]] std::int32_t logits_rows(const StepShape& step) noexcept;

/// The rows of a stream, [rows, width] of `dtype`.
struct StreamRows {
  void* data = nullptr;
  std::int32_t width = 0;
  Dtype dtype = Dtype::fp16;
};

/// The stream's rows by embedding table [vocab, width].
void embed_tokens(Recorder& recorder, const StepShape& step, const StepPlaces& places, const void* table,
                  std::int32_t vocab, const StreamRows& out);
/// Prefill: the rows that a token is drawn after, to `out` [requests, width]. -1 is no row and gives zeros.
void gather_sampled(Recorder& recorder, const StepShape& step, const StepPlaces& places, const void* rows,
                    const StreamRows& out);
/// From fp32 logits [logits_rows, vocab] to places.next_tokens; verify_draft, greedy, in a verify step, else sample.
void choose_tokens(Recorder& recorder, const StepShape& step, const StepPlaces& places, const float* logits,
                   std::int32_t vocab);

}  // namespace refrain
