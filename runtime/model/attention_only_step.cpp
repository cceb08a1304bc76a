#include "runtime/model/attention_only_step.hpp"

#include <fmt/format.h>

#include "kernels/rms_norm.hpp"
#include "runtime/model/step_parts.hpp"

namespace refrain {
namespace {

constexpr float kEps = 1e-5f;

}  // namespace

AttentionOnlyStep::At AttentionOnlyStep::at(std::size_t number) const {
  const AttentionOnlyLayer& layer = memory_.layers[number];
  return {layer, shape_.geometry(layer.kind), static_cast<std::int32_t>(number) / kLayerKinds};
}

GemmArgs AttentionOnlyStep::project_in(const At& at, const Lease& w, std::int32_t heads, const Lease& out) const {
  return with_plan({.a = (converts(at) ? x_.mla_normed : x_.normed).as<void>(),
                    .w = w.as<void>(),
                    .dtype = at.geometry.dtype,
                    .out_dtype = at.geometry.dtype,
                    .bucket = step_.rows,
                    .n = heads * at.geometry.dim,
                    .k = shape_.width,
                    .out = out.as<void>()},
                   plans_, x_.gemm_workspace);
}

GemmArgs AttentionOnlyStep::project_out(const At& at) const {
  return with_plan({.a = x_.attended.as<void>(),
                    .w = at.layer.o.as<void>(),
                    .dtype = at.geometry.dtype,
                    .out_dtype = at.geometry.dtype,
                    .bucket = step_.rows,
                    .n = shape_.width,
                    .k = at.geometry.heads * at.geometry.value_dim,
                    .out = (converts(at) ? x_.mla_branch : x_.branch).as<void>()},
                   plans_, x_.gemm_workspace);
}

GemmArgs AttentionOnlyStep::head_gemm() const {
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

ConvertArgs AttentionOnlyStep::convert_in(const At& at) const {
  return {.from = x_.normed.as<void>(),
          .from_dtype = shape_.dtype(),
          .to_dtype = at.geometry.dtype,
          .count = std::int64_t{step_.rows} * shape_.width,
          .to = x_.mla_normed.as<void>()};
}

ConvertArgs AttentionOnlyStep::convert_out(const At& at) const {
  return {.from = x_.mla_branch.as<void>(),
          .from_dtype = at.geometry.dtype,
          .to_dtype = shape_.dtype(),
          .count = std::int64_t{step_.rows} * shape_.width,
          .to = x_.branch.as<void>()};
}

void AttentionOnlyStep::run_gemms_once(Driver& driver, Stream stream) const {
  // Not through the recorder: what these write is no fact that a replay may rest on.
  const auto run = [&](const GemmArgs& args) { check(driver.launch(bind_op(gemm, args), stream), gemm.name); };
  for (std::size_t number = 0; number < memory_.layers.size() && number < kLayerKinds; ++number) {
    const At a = at(number);
    run(project_in(a, a.layer.q, a.geometry.heads, x_.q));
    run(project_in(a, a.layer.k, a.geometry.kv_heads, x_.k));
    run(project_out(a));
  }
  run(head_gemm());
}

/// Of the residual; but for the first, the branch is added to it before.
void AttentionOnlyStep::norm(Recorder& recorder, const StepPlaces& places, const Lease& weight, bool first) const {
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

/// What all layers of a kind go by is decided once.
void AttentionOnlyStep::plan(Recorder& recorder, const StepPlaces& places) const {
  const auto scope = recorder.scope("plan");
  if (shape_.count(LayerKind::dense) > 0) plan_dense(recorder, places);
  if (shape_.count(LayerKind::sparse) > 0) plan_sparse(recorder, places);
  if (shape_.count(LayerKind::mla) > 0) plan_mla(recorder, places);
}

void AttentionOnlyStep::run_layer(Recorder& recorder, const StepPlaces& places, std::size_t number) const {
  const At a = at(number);
  const auto scope = recorder.scope(fmt::format("layer {} {}", number, to_string(a.layer.kind)));
  norm(recorder, places, a.layer.norm, number == 0);
  if (converts(a)) recorder.launch(convert, convert_in(a));
  recorder.launch(gemm, project_in(a, a.layer.q, a.geometry.heads, x_.q));
  recorder.launch(gemm, project_in(a, a.layer.k, a.geometry.kv_heads, x_.k));
  if (a.layer.kind == LayerKind::mla) {
    attend_mla(recorder, places, a);
  } else {
    recorder.launch(gemm, project_in(a, a.layer.v, a.geometry.kv_heads, x_.v));
    attend_pages(recorder, places, a);
  }
  recorder.launch(gemm, project_out(a));
  if (converts(a)) recorder.launch(convert, convert_out(a));
}

void AttentionOnlyStep::record(Recorder& recorder, const StepPlaces& places) const {
  const auto scope = recorder.scope("attention_only");
  plan(recorder, places);
  embed_tokens(recorder, step_, places, memory_.embedding.as<void>(), shape_.vocab,
               {x_.residual.as<void>(), shape_.width, shape_.dtype()});
  for (std::size_t number = 0; number < memory_.layers.size(); ++number) run_layer(recorder, places, number);
  norm(recorder, places, memory_.final_norm, false);
  if (step_.phase == Phase::prefill)
    gather_sampled(recorder, step_, places, x_.normed.as<void>(),
                   {x_.sampled.as<void>(), shape_.width, shape_.dtype()});
  recorder.launch(gemm, head_gemm());
  choose_tokens(recorder, step_, places, x_.logits.as<float>(), shape_.vocab);
}

}  // namespace refrain
