#include "runtime/model/step_parts.hpp"

#include "kernels/embed.hpp"
#include "kernels/sample.hpp"
#include "kernels/verify_draft.hpp"

namespace refrain {

GemmArgs with_plan(GemmArgs args, GemmPlans* plans, const Lease& workspace) {
  if (plans == nullptr) return args;
  args.plan = plans->plan(args);
  args.workspace_bytes = gemm_workspace_bytes(*args.plan);
  if (args.workspace_bytes > 0) args.workspace = workspace.as<void>();
  return args;
}

std::int32_t logits_rows(const StepShape& step) noexcept {
  return step.phase == Phase::prefill ? step.requests : step.rows;
}

void embed_tokens(Recorder& recorder, const StepShape& step, const StepPlaces& places, const void* table,
                  std::int32_t vocab, const StreamRows& out) {
  recorder.launch(embed, {.ids = places.tokens,
                          .rows = places.batch.rows,
                          .table = table,
                          .dtype = out.dtype,
                          .bucket = step.rows,
                          .vocab = vocab,
                          .width = out.width,
                          .out = out.data});
}

void gather_sampled(Recorder& recorder, const StepShape& step, const StepPlaces& places, const void* rows,
                    const StreamRows& out) {
  recorder.launch(embed, {.ids = places.sample_rows,
                          .rows = places.real_requests,
                          .table = rows,
                          .dtype = out.dtype,
                          .bucket = step.requests,
                          .vocab = step.rows,
                          .width = out.width,
                          .out = out.data});
}

void choose_tokens(Recorder& recorder, const StepShape& step, const StepPlaces& places, const float* logits,
                   std::int32_t vocab) {
  if (step.phase == Phase::verify)
    return recorder.launch(verify_draft, {.logits = logits,
                                          .draft_tokens = places.draft_tokens,
                                          .draft_lengths = places.draft_lengths,
                                          .real_requests = places.real_requests,
                                          .requests = step.requests,
                                          .drafts = step.query_length - 1,
                                          .vocab = vocab,
                                          .accepted = places.accepted,
                                          .tokens = places.next_tokens});
  recorder.launch(sample, {.logits = logits,
                           .rows = places.real_requests,
                           .temperature = places.temperature,
                           .top_k = places.top_k,
                           .top_p = places.top_p,
                           .seeds = places.seeds,
                           .wanted = step.phase == Phase::prefill ? places.sample_rows : nullptr,
                           .bucket = step.requests,
                           .vocab = vocab,
                           .tokens = places.next_tokens});
}

}  // namespace refrain
