#include <cmath>

#include "kernels/merge_mla.hpp"
#include "kernels/mla_append.hpp"
#include "kernels/select_recent.hpp"
#include "kernels/xqa_decode.hpp"
#include "runtime/model/attention_only_step.hpp"

namespace refrain {
namespace {

float softmax_scale(std::int32_t dim) {
  return 1.0f / std::sqrt(static_cast<float>(dim));
}

std::uint64_t u(std::int64_t count) {
  return static_cast<std::uint64_t>(count);
}

}  // namespace

std::int32_t AttentionOnlyStep::slots(LayerKind kind) const {
  return kind == LayerKind::sparse && is_grouped(step_) ? kGroupRows - 1 : step_.rows;
}

KvPoolView AttentionOnlyStep::pool_of(const At& at) const {
  KvPoolView pool = shape_.pool(at.layer.kind, limits_.pages);
  pool.data = at.layer.pool.as<std::byte>();
  return pool;
}

MlaPoolView AttentionOnlyStep::mla_pool_of(const At& at) const {
  MlaPoolView pool = shape_.mla_pool(limits_.pages);
  pool.data = at.layer.pool.as<std::byte>();
  return pool;
}

MlaPoolView AttentionOnlyStep::split_scratch() const {
  MlaPoolView pool = shape_.split_scratch(limits_.pages);
  pool.data = x_.split_scratch.as<std::byte>();
  return pool;
}

void AttentionOnlyStep::fill_scratch(Recorder& recorder) const {
  // A split without entries leaves its partial as it is, and merge_mla skips it: but it may read it, says its contract.
  if (shape_.count(LayerKind::mla) > 0 && step_.rows <= kMlaDecodeRows)
    recorder.zero(x_.partials.address(), u(std::int64_t{step_.rows} * shape_.geometry(LayerKind::mla).heads *
                                           shape_.mla_splitting().splits * kMlaValueDim) *
                                             sizeof(float));
  if (!x_.split_scratch) return;
  // Of pages 1 and up page_split writes those that are touched, and no pad at a page's end. Page 0 is its own to zero.
  const MlaPoolView scratch = split_scratch();
  recorder.zero(x_.split_scratch.address() + u(scratch.page_bytes()), scratch.bytes() - u(scratch.page_bytes()));
}

PlanXqaArgs AttentionOnlyStep::xqa_plan(LayerKind kind, const XqaPlan& plan, const StepPlaces& places) const {
  const bool sparse = kind == LayerKind::sparse;
  const std::int32_t heads = shape_.geometry(kind).heads, sets = shape_.count(kind);
  return {.selected = sparse ? x_.selected.as<std::int32_t>() : nullptr,
          .batch = places.batch,
          .pool = shape_.pool(kind, limits_.pages),
          .slots = slots(kind),
          .group_rows = sparse && is_grouped(step_) ? kGroupRows : 0,
          .heads = heads,
          .partitions = shape_.partitions(kind, limits_.context),
          .partition_tokens = shape_.partition_tokens,
          .keys = sparse ? plan.keys.as<std::int64_t>() : nullptr,
          .slot_rows = plan.slot_rows.as<std::int32_t>(),
          .lengths = plan.lengths.as<std::int32_t>(),
          .active_partitions = plan.active_partitions.as<std::int32_t>(),
          .counter_sets = sets,
          .counters = plan.counters.as<std::int32_t>(),
          .counters_zeroed = std::int64_t{sets} * slots(kind) * heads};
}

void AttentionOnlyStep::plan_dense(Recorder& recorder, const StepPlaces& places) const {
  recorder.launch(plan_xqa, xqa_plan(LayerKind::dense, x_.dense, places));
}

void AttentionOnlyStep::plan_sparse(Recorder& recorder, const StepPlaces& places) const {
  recorder.launch(select_recent, {.batch = places.batch,
                                  .blocks = shape_.blocks,
                                  .sinks = shape_.sink_blocks,
                                  .selected = x_.selected.as<std::int32_t>()});
  recorder.launch(plan_xqa, xqa_plan(LayerKind::sparse, x_.sparse, places));
  if (!is_grouped(step_)) return;
  const std::int32_t groups = (step_.rows + kGroupRows - 1) / kGroupRows;
  recorder.launch(plan_grouped, {.selected = x_.selected.as<std::int32_t>(),
                                 .batch = places.batch,
                                 .pool = shape_.pool(LayerKind::sparse, limits_.pages),
                                 .microblocks = x_.microblocks.as<std::int32_t>(),
                                 .masks = x_.masks.as<std::uint32_t>(),
                                 .tokens = x_.tokens.as<std::int32_t>(),
                                 .groups = groups,
                                 .fix_padding = true});
}

void AttentionOnlyStep::plan_mla(Recorder& recorder, const StepPlaces& places) const {
  recorder.launch(select_slots, {.batch = places.batch,
                                 .pool = shape_.mla_pool(limits_.pages),
                                 .sinks = shape_.sink_tokens,
                                 .topk = shape_.topk,
                                 .indices = x_.indices.as<std::int32_t>(),
                                 .lengths = x_.index_lengths.as<std::int32_t>()});
}

void AttentionOnlyStep::attend_pages(Recorder& recorder, const StepPlaces& places, const At& at) const {
  const auto* scales = at.layer.scales.as<float>();
  recorder.launch(kv_append, {.k = x_.k.as<void>(),
                              .v = x_.v.as<void>(),
                              .input_dtype = at.geometry.dtype,
                              .pool = pool_of(at),
                              .batch = places.batch,
                              .k_scale = scales,
                              .v_scale = scales + 1});
  if (at.layer.kind == LayerKind::sparse && is_grouped(step_)) attend_grouped(recorder, at);
  attend_xqa(recorder, places, at);
}

void AttentionOnlyStep::attend_grouped(Recorder& recorder, const At& at) const {
  const auto* scales = at.layer.scales.as<float>();
  recorder.launch(grouped_attention, {.q = x_.q.as<void>(),
                                      .q_dtype = at.geometry.dtype,
                                      .pool = pool_of(at),
                                      .microblocks = x_.microblocks.as<std::int32_t>(),
                                      .masks = x_.masks.as<std::uint32_t>(),
                                      .tokens = x_.tokens.as<std::int32_t>(),
                                      .k_scale = scales,
                                      .v_scale = scales + 1,
                                      .softmax_scale = softmax_scale(at.geometry.dim),
                                      .bucket = step_.rows,
                                      .groups = (step_.rows + kGroupRows - 1) / kGroupRows,
                                      .out = x_.attended.as<void>(),
                                      .lse = x_.attended_lse.as<float>()});
}

void AttentionOnlyStep::attend_xqa(Recorder& recorder, const StepPlaces& places, const At& at) const {
  const LayerKind kind = at.layer.kind;
  const XqaPlan& plan = kind == LayerKind::sparse ? x_.sparse : x_.dense;
  const auto* scales = at.layer.scales.as<float>();
  const std::int32_t rows = slots(kind), heads = at.geometry.heads,
                     partitions = shape_.partitions(kind, limits_.context);
  auto* counters = plan.counters.as<std::int32_t>() + std::int64_t{at.of_kind} * rows * heads;
  recorder.launch(xqa_decode, {.q = x_.q.as<void>(),
                               .q_dtype = at.geometry.dtype,
                               .pool = pool_of(at),
                               .batch = places.batch,
                               .keys = kind == LayerKind::sparse ? plan.keys.as<std::int64_t>() : nullptr,
                               .slot_rows = plan.slot_rows.as<std::int32_t>(),
                               .lengths = plan.lengths.as<std::int32_t>(),
                               .active_partitions = plan.active_partitions.as<std::int32_t>(),
                               .k_scale = scales,
                               .v_scale = scales + 1,
                               .softmax_scale = softmax_scale(at.geometry.dim),
                               .slots = rows,
                               .heads = heads,
                               .partitions = partitions,
                               .partition_tokens = shape_.partition_tokens,
                               .partials = x_.partials.as<void>(),
                               .partial_lse = x_.partial_lse.as<float>(),
                               .counters = counters,
                               .every_row = rows == step_.rows,
                               .plan_is_done = true,  // behind kv_append or grouped_attention, which write none of it
                               .wide = has_wide_splits(at.geometry.kv_heads, pool_of(at).dtype),
                               .out_dtype = at.geometry.dtype,
                               .out = x_.attended.as<void>(),
                               .lse = x_.attended_lse.as<float>()});
}

SparseMlaArgs AttentionOnlyStep::mla_args(const StepPlaces& places, const At& at) const {
  const bool split = shape_.splits_pages();
  const MlaPoolView pool = split ? split_scratch() : mla_pool_of(at);
  const MlaSplitting splitting = shape_.mla_splitting();
  return {.q = x_.q.as<void>(),
          .pool = pool,
          .zeroed_bytes = split ? u(pool.page_bytes()) : 0,
          .indices = x_.indices.as<std::int32_t>(),
          .lengths = x_.index_lengths.as<std::int32_t>(),
          .real_rows = places.batch.rows,
          .softmax_scale = softmax_scale(at.geometry.dim),
          .rows = step_.rows,
          .heads = at.geometry.heads,
          .topk = shape_.topk,
          .faults = {},
          .out = x_.attended.as<void>(),
          .lse = x_.attended_lse.as<float>(),
          .splits = splitting.splits,
          .split_entries = splitting.entries,
          .partials = x_.partials.as<float>(),
          .partial_lse = x_.partial_lse.as<float>()};
}

void AttentionOnlyStep::attend_mla(Recorder& recorder, const StepPlaces& places, const At& at) const {
  recorder.launch(mla_append, {.latent = x_.k.as<void>(), .pool = mla_pool_of(at), .batch = places.batch});
  const SparseMlaArgs args = mla_args(places, at);
  if (shape_.splits_pages())
    recorder.launch(page_split, {.source = mla_pool_of(at),
                                 .scratch = args.pool,
                                 .indices = args.indices,
                                 .lengths = args.lengths,
                                 .real_rows = args.real_rows,
                                 .rows = args.rows,
                                 .topk = args.topk,
                                 .touched = x_.touched.as<std::uint8_t>()});
  if (step_.rows > kMlaDecodeRows) return recorder.launch(sparse_mla_prefill, args);
  recorder.launch(sparse_mla_decode, args);
  recorder.launch(merge_mla, {.partials = args.partials,
                              .partial_lse = args.partial_lse,
                              .real_rows = args.real_rows,
                              .rows = args.rows,
                              .heads = args.heads,
                              .splits = args.splits,
                              .out = args.out,
                              .lse = args.lse});
}

}  // namespace refrain
