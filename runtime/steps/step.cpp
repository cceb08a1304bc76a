#include "runtime/steps/step.hpp"

#include <cmath>

#include "kernels/grouped_attention.hpp"
#include "kernels/kv_append.hpp"
#include "kernels/merge_partials.hpp"
#include "kernels/pad_fix.hpp"
#include "kernels/plan_grouped.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/xqa_decode.hpp"

namespace refrain {
namespace {

float softmax_scale() {
  return 1.0f / std::sqrt(static_cast<float>(kHeadDim));
}

KvAppendArgs append_args(const StepBuffers& b) {
  KvAppendArgs args;
  args.k = b.k.as<void>();
  args.v = b.v.as<void>();
  args.input_dtype = b.options.q_dtype();
  args.pool = b.pool.view();
  args.batch = b.batch();
  args.k_scale = b.scales.as<float>();
  args.v_scale = b.scales.as<float>() + 1;
  return args;
}

PlanGroupedArgs plan_grouped_args(const StepBuffers& b) {
  PlanGroupedArgs args;
  args.selected = b.selected.as<std::int32_t>();
  args.batch = b.batch();
  args.pool = b.pool.view();
  args.microblocks = b.grouped.microblocks.as<std::int32_t>();
  args.masks = b.grouped.masks.as<std::uint32_t>();
  args.tokens = b.grouped.tokens.as<std::int32_t>();
  args.groups = b.grouped.groups;
  return args;
}

PadFixArgs pad_fix_args(const StepBuffers& b) {
  return {b.grouped.microblocks.as<std::int32_t>(), b.grouped.masks.as<std::uint32_t>(), b.grouped.groups,
          kGroupedWidth};
}

GroupedAttentionArgs attention_args(const StepBuffers& b) {
  GroupedAttentionArgs args;
  args.q = b.q.as<void>();
  args.q_dtype = b.options.q_dtype();
  args.pool = b.pool.view();
  args.microblocks = b.grouped.microblocks.as<std::int32_t>();
  args.masks = b.grouped.masks.as<std::uint32_t>();
  args.tokens = b.grouped.tokens.as<std::int32_t>();
  args.k_scale = b.scales.as<float>();
  args.v_scale = b.scales.as<float>() + 1;
  args.softmax_scale = softmax_scale();
  args.bucket = b.options.bucket_rows();
  args.groups = b.grouped.groups;
  args.out = b.output.out.as<void>();
  args.lse = b.output.lse.as<float>();
  args.zero_unattended = !b.options.faults.has(Fault::kernel_zero_off);
  return args;
}

PlanXqaArgs plan_xqa_args(const StepBuffers& b, const XqaBuffers& x, const FaultSet& faults) {
  PlanXqaArgs args;
  args.selected = b.selected.as<std::int32_t>();
  args.batch = b.batch();
  args.pool = b.pool.view();
  args.slots = x.slots;
  args.group_rows = x.group_rows;
  args.heads = kHeads;
  args.partition_tokens = x.partition_tokens;
  args.keys = x.keys.as<std::int64_t>();
  args.slot_rows = x.slot_rows.as<std::int32_t>();
  args.lengths = x.lengths.as<std::int32_t>();
  args.active_partitions = faults.has(Fault::workspace_on_host) ? nullptr : x.active_partitions.as<std::int32_t>();
  args.counters = x.counters.as<std::int32_t>();
  args.counters_zeroed = x.counter_count();
  if (faults.has(Fault::scratch_zero_outside)) args.counters_zeroed = 0;
  if (faults.has(Fault::scratch_zero_short)) args.counters_zeroed = x.counter_count() / 2;
  return args;
}

XqaDecodeArgs decode_args(const StepBuffers& b, const XqaBuffers& x) {
  XqaDecodeArgs args;
  args.q = b.q.as<void>();
  args.q_dtype = b.options.q_dtype();
  args.pool = b.pool.view();
  args.batch = b.batch();
  args.keys = x.keys.as<std::int64_t>();
  args.slot_rows = x.slot_rows.as<std::int32_t>();
  args.lengths = x.lengths.as<std::int32_t>();
  args.active_partitions = x.active_partitions.as<std::int32_t>();
  args.k_scale = b.scales.as<float>();
  args.v_scale = b.scales.as<float>() + 1;
  args.softmax_scale = softmax_scale();
  args.slots = x.slots;
  args.heads = kHeads;
  args.partitions = x.partitions;
  args.partition_tokens = x.partition_tokens;
  args.partials = x.partials.as<void>();
  args.partial_dtype = x.partial_dtype;
  args.partial_lse = x.partial_lse.as<float>();
  args.counters = x.counters.as<std::int32_t>();
  return args;
}

MergePartialsArgs merge_args(const StepBuffers& b, const XqaBuffers& x, const OutputBuffers& output) {
  MergePartialsArgs args;
  args.partials = x.partials.as<void>();
  args.partial_dtype = x.partial_dtype;
  args.partial_lse = x.partial_lse.as<float>();
  args.counters = x.counters.as<std::int32_t>();
  args.slot_rows = x.slot_rows.as<std::int32_t>();
  args.lengths = x.lengths.as<std::int32_t>();
  args.slots = x.slots;
  args.heads = kHeads;
  args.partitions = x.partitions;
  args.partition_tokens = x.partition_tokens;
  args.dim = kHeadDim;
  args.bucket = b.options.bucket_rows();
  args.every_row = x.group_rows == 0;
  args.out_dtype = b.options.q_dtype();
  args.out = output.out.as<void>();
  args.lse = output.lse.as<float>();
  return args;
}

/// Inputs that the host writes before every launch, and what was made once.
void declare_entry(Recorder& recorder, const StepBuffers& b) {
  const auto each_launch = [&](const Lease& lease, std::uint64_t bytes) {
    recorder.entry(Fact::written, lease.address(), bytes, Origin::host_each_launch, "the host, before every launch");
  };
  const StepOptions& o = b.options;
  const auto bucket = static_cast<std::uint64_t>(o.bucket_rows()), requests = static_cast<std::uint64_t>(o.requests);
  const std::uint64_t row_bytes = kHeadDim * dtype_bytes(o.q_dtype());
  each_launch(b.rows, 4);
  each_launch(b.token_to_req, bucket * 4);
  each_launch(b.query_pos, bucket * 8);
  each_launch(b.seq_len, requests * 4);
  each_launch(b.page_table, requests * static_cast<std::uint64_t>(pages_used(o) + 1) * 4);
  each_launch(b.selected, bucket * kSelectedWidth * 4);
  each_launch(b.q, bucket * kHeads * row_bytes);
  each_launch(b.k, bucket * row_bytes);
  each_launch(b.v, bucket * row_bytes);
  recorder.entry(Fact::written, b.scales.address(), 8, Origin::initialised_once, "loaded with the weights");
  recorder.entry(Fact::written, b.pool.lease().address(), b.pool.view().bytes(), Origin::initialised_once,
                 "the pool is filled on the device when it is made");
}

}  // namespace

void prepare_step(Recorder& recorder, const StepBuffers& b) {
  const FaultSet& faults = b.options.faults;
  declare_entry(recorder, b);
  recorder.zero(b.xqa.partials.address(), b.xqa.partial_bytes());
  if (faults.has(Fault::scratch_zero_outside))
    recorder.zero(b.xqa.counters.address(), static_cast<std::uint64_t>(b.xqa.counter_count()) * 4);
  if (faults.has(Fault::pad_fix_outside)) {
    recorder.launch(plan_grouped, plan_grouped_args(b));
    recorder.launch(pad_fix, pad_fix_args(b));
  }
}

void record_xqa_route(Recorder& recorder, const StepBuffers& b, const XqaBuffers& x, const OutputBuffers& output,
                      const FaultSet& faults) {
  const auto scope = recorder.scope("xqa");
  if (faults.has(Fault::workspace_on_host))
    recorder.copy({x.active_partitions.address(), MemorySpace::device},
                  {reinterpret_cast<Address>(b.host_partitions.data()), MemorySpace::pageable}, sizeof(std::int32_t));
  recorder.launch(plan_xqa, plan_xqa_args(b, x, faults));
  recorder.launch(xqa_decode, decode_args(b, x));
  recorder.launch(merge_partials, merge_args(b, x, output));
}

void record_grouped_prefill(Recorder& recorder, const StepBuffers& b) {
  const FaultSet& faults = b.options.faults;
  const bool fixed_in_place =
      !faults.has(Fault::pad_fix_off) && !faults.has(Fault::pad_fix_outside) && !faults.has(Fault::pad_fix_late);
  const auto scope = recorder.scope("grouped_prefill");
  recorder.launch(kv_append, append_args(b));
  if (faults.has(Fault::host_sync)) check(recorder.driver().synchronize(recorder.stream()), "cudaStreamSynchronize");
  if (b.options.grouped()) {
    recorder.launch(plan_grouped, plan_grouped_args(b));
    if (fixed_in_place) recorder.launch(pad_fix, pad_fix_args(b));
    recorder.launch(grouped_attention, attention_args(b));
    if (faults.has(Fault::pad_fix_late)) recorder.launch(pad_fix, pad_fix_args(b));
  }
  record_xqa_route(recorder, b, b.xqa, b.output, faults);
}

void record_xqa_decode(Recorder& recorder, const StepBuffers& b) {
  const FaultSet& faults = b.options.faults;
  const auto scope = recorder.scope("xqa_decode");
  recorder.launch(kv_append, append_args(b));
  if (faults.has(Fault::host_sync)) check(recorder.driver().synchronize(recorder.stream()), "cudaStreamSynchronize");
  record_xqa_route(recorder, b, b.xqa, b.output, faults);
}

void record_step(Recorder& recorder, const StepBuffers& b) {
  if (b.options.step == StepKind::grouped_prefill)
    record_grouped_prefill(recorder, b);
  else
    record_xqa_decode(recorder, b);
}

}  // namespace refrain
