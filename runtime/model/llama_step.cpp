#include "runtime/model/llama_step.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kernels/rms_norm.hpp"
#include "kernels/rope_append.hpp"
#include "kernels/silu_mul.hpp"
#include "kernels/xqa_decode.hpp"
#include "runtime/model/step_parts.hpp"

namespace refrain {
namespace {

constexpr float kEps = 1e-5f;

}  // namespace

KvPoolView LlamaStep::pool_of(const LlamaLayer& layer) const {
  KvPoolView pool = shape_.pool(limits_.pages);
  pool.data = layer.pool.as<std::byte>();
  return pool;
}

GemmArgs LlamaStep::linear(const Lease& a, const Lease& w, std::int32_t n, std::int32_t k, const Lease& out) const {
  return with_plan({.a = a.as<void>(),
                    .w = w.as<void>(),
                    .dtype = shape_.dtype(),
                    .out_dtype = shape_.dtype(),
                    .bucket = step_.rows,
                    .n = n,
                    .k = k,
                    .out = out.as<void>()},
                   plans_, x_.gemm_workspace);
}

GemmArgs LlamaStep::qkv_gemm(const LlamaLayer& layer) const {
  return linear(x_.normed, layer.qkv, shape_.qkv_heads() * shape_.dim, shape_.width, x_.qkv);
}

GemmArgs LlamaStep::o_gemm(const LlamaLayer& layer) const {
  return linear(x_.attended, layer.o, shape_.width, shape_.heads * shape_.dim, x_.branch);
}

GemmArgs LlamaStep::gate_up_gemm(const LlamaLayer& layer) const {
  return linear(x_.normed, layer.gate_up, 2 * shape_.ffn, shape_.width, x_.gate_up);
}

GemmArgs LlamaStep::down_gemm(const LlamaLayer& layer) const {
  return linear(x_.gated, layer.down, shape_.width, shape_.ffn, x_.branch);
}

GemmArgs LlamaStep::head_gemm() const {
  return with_plan({.a = (step_.phase == Phase::prefill ? x_.sampled : x_.normed).as<void>(),
                    .w = memory_.head.as<void>(),
                    .dtype = shape_.dtype(),
                    .out_dtype = Dtype::fp32,
                    .bucket = logits_rows(step_),
                    .n = shape_.vocab,
                    .k = shape_.width,
                    .out = x_.logits.as<void>()},
                   plans_, x_.gemm_workspace);
}

void LlamaStep::run_gemms_once(Driver& driver, Stream stream) const {
  const LlamaLayer& layer = memory_.layers.front();
  // Not through the recorder: what these write is no fact that a replay may rest on.
  for (const GemmArgs& args : {qkv_gemm(layer), o_gemm(layer), gate_up_gemm(layer), down_gemm(layer), head_gemm()})
    check(driver.launch(bind_op(gemm, args), stream), gemm.name);
}

/// Of the residual; but for the first, the branch is added to it before.
void LlamaStep::norm(Recorder& recorder, const StepPlaces& places, const Lease& weight, bool first) const {
  recorder.launch(rms_norm, {.x = (first ? x_.residual : x_.branch).as<void>(),
                             .weight = weight.as<void>(),
                             .rows = places.batch.rows,
                             .eps = kEps,
                             .dtype = shape_.dtype(),
                             .bucket = step_.rows,
                             .width = shape_.width,
                             .residual = first ? nullptr : x_.residual.as<void>(),
                             .out = x_.normed.as<void>(),
                             .rest_is_done = true});  // behind a GEMM or embed, which write x alone
}

void LlamaStep::plan(Recorder& recorder, const StepPlaces& places) const {
  recorder.launch(plan_xqa, {.batch = places.batch,
                             .pool = pool_of(memory_.layers.front()),
                             .slots = step_.rows,
                             .heads = shape_.heads,
                             .partitions = shape_.partitions(limits_.context),
                             .partition_tokens = shape_.partition_tokens,
                             .slot_rows = x_.slot_rows.as<std::int32_t>(),
                             .lengths = x_.lengths.as<std::int32_t>(),
                             .active_partitions = x_.active_partitions.as<std::int32_t>(),
                             .counter_sets = shape_.layers,
                             .counters = x_.counters.as<std::int32_t>(),
                             .counters_zeroed = std::int64_t{shape_.layers} * step_.rows * shape_.heads});
}

void LlamaStep::attend(Recorder& recorder, const StepPlaces& places, std::size_t number) const {
  const LlamaLayer& layer = memory_.layers[number];
  const auto* scales = layer.scales.as<float>();
  auto* counters = x_.counters.as<std::int32_t>() + static_cast<std::int64_t>(number) * step_.rows * shape_.heads;
  const std::int32_t partitions = shape_.partitions(limits_.context);
  recorder.launch(gemm, qkv_gemm(layer));
  recorder.launch(rope_append, {.qkv = x_.qkv.as<void>(),
                                .dtype = shape_.dtype(),
                                .heads = shape_.heads,
                                .theta = shape_.theta,
                                .rotary_dim = shape_.dim,
                                .pool = pool_of(layer),
                                .batch = places.batch,
                                .k_scale = scales,
                                .v_scale = scales + 1,
                                .q = x_.q.as<void>(),
                                .rest_is_done = true});
  recorder.launch(xqa_decode, {.q = x_.q.as<void>(),
                               .q_dtype = shape_.dtype(),
                               .pool = pool_of(layer),
                               .batch = places.batch,
                               .slot_rows = x_.slot_rows.as<std::int32_t>(),
                               .lengths = x_.lengths.as<std::int32_t>(),
                               .active_partitions = x_.active_partitions.as<std::int32_t>(),
                               .k_scale = scales,
                               .v_scale = scales + 1,
                               .softmax_scale = 1.0f / std::sqrt(static_cast<float>(shape_.dim)),
                               .slots = step_.rows,
                               .heads = shape_.heads,
                               .partitions = partitions,
                               .partition_tokens = shape_.partition_tokens,
                               .partials = x_.partials.as<void>(),
                               .partial_lse = x_.partial_lse.as<float>(),
                               .counters = counters,
                               .plan_is_done = true,  // behind rope_append, which writes q and the pool alone
                               .wide = has_wide_splits(shape_.kv_heads, shape_.kv),
                               .out_dtype = shape_.dtype(),
                               .out = x_.attended.as<void>(),
                               .lse = x_.attended_lse.as<float>()});
  recorder.launch(gemm, o_gemm(layer));
}

void LlamaStep::feed_forward(Recorder& recorder, const StepPlaces& places, const LlamaLayer& layer) const {
  recorder.launch(gemm, gate_up_gemm(layer));
  recorder.launch(silu_mul, {.gate_up = x_.gate_up.as<void>(),
                             .rows = places.batch.rows,
                             .dtype = shape_.dtype(),
                             .bucket = step_.rows,
                             .width = shape_.ffn,
                             .out = x_.gated.as<void>(),
                             .rest_is_done = true});
  recorder.launch(gemm, down_gemm(layer));
}

void LlamaStep::record(Recorder& recorder, const StepPlaces& places) const {
  const auto scope = recorder.scope("llama");
  plan(recorder, places);
  embed_tokens(recorder, step_, places, memory_.embedding.as<void>(), shape_.vocab,
               {x_.residual.as<void>(), shape_.width, shape_.dtype()});
  for (std::size_t number = 0; number < memory_.layers.size(); ++number) {
    const auto layer_scope = recorder.scope(fmt::format("layer {}", number));
    norm(recorder, places, memory_.layers[number].attention_norm, number == 0);
    attend(recorder, places, number);
    norm(recorder, places, memory_.layers[number].ffn_norm, false);
    feed_forward(recorder, places, memory_.layers[number]);
  }
  norm(recorder, places, memory_.final_norm, false);
  if (step_.phase == Phase::prefill)
    gather_sampled(recorder, step_, places, x_.normed.as<void>(),
                   {x_.sampled.as<void>(), shape_.width, shape_.dtype()});
  recorder.launch(gemm, head_gemm());
  choose_tokens(recorder, step_, places, x_.logits.as<float>(), shape_.vocab);
}

}  // namespace refrain
