#include "runtime/steps/attention/step_args.hpp"

#include <cmath>

namespace refrain {
namespace {

float softmax_scale() {
  return 1.0f / std::sqrt(static_cast<float>(kHeadDim));
}

}  // namespace

KvAppendArgs append_args(const AttentionBuffers& b) {
  KvAppendArgs args;
  args.k = b.k.as<void>();
  args.v = b.v.as<void>();
  args.input_dtype = b.options.q_dtype();
  args.pool = b.pool.view();
  args.batch = b.batch();
  if (b.options.faults.has(Fault::baked_length)) args.batch.bucket = b.options.rows;
  args.k_scale = b.scales.as<float>();
  args.v_scale = b.scales.as<float>() + 1;
  args.pad_rows_to_null_block = b.options.faults.has(Fault::null_block_written);
  return args;
}

PlanGroupedArgs plan_grouped_args(const AttentionBuffers& b) {
  PlanGroupedArgs args;
  args.selected = b.selected.as<std::int32_t>();
  args.batch = b.batch();
  args.batch.bucket = b.options.written_rows();
  args.pool = b.pool.view();
  args.microblocks = b.grouped.microblocks.as<std::int32_t>();
  args.masks = b.grouped.masks.as<std::uint32_t>();
  args.tokens = b.grouped.tokens.as<std::int32_t>();
  args.groups = b.grouped.groups;
  args.fix_padding = !b.options.faults.any_of({Fault::pad_fix_off, Fault::pad_fix_outside, Fault::pad_fix_late});
  return args;
}

PadFixArgs pad_fix_args(const AttentionBuffers& b) {
  return {b.grouped.microblocks.as<std::int32_t>(), b.grouped.masks.as<std::uint32_t>(), b.grouped.groups,
          kGroupedWidth};
}

GroupedAttentionArgs attention_args(const AttentionBuffers& b) {
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
  args.bucket = b.options.written_rows();
  args.groups = b.grouped.groups;
  args.out = b.output.out.as<void>();
  args.lse = b.output.lse.as<float>();
  args.zero_unattended = !b.options.faults.has(Fault::kernel_zero_off);
  return args;
}

/// The rows that a route serves: all of the bucket, or the real ones alone for the fault `pad-rows-unwritten`.
BatchView served(const AttentionBuffers& b, const XqaBuffers& x) {
  BatchView batch = b.batch();
  batch.bucket = x.group_rows == 0 ? x.slots : b.options.written_rows();
  return batch;
}

PlanXqaArgs plan_xqa_args(const AttentionBuffers& b, const XqaBuffers& x, const FaultSet& faults) {
  PlanXqaArgs args;
  args.selected = b.selected.as<std::int32_t>();
  args.batch = served(b, x);
  args.pool = b.pool.view();
  args.slots = x.slots;
  args.group_rows = x.group_rows;
  args.heads = kHeads;
  args.partitions = x.partitions;
  args.partition_tokens = x.partition_tokens;
  args.keys = x.keys.as<std::int64_t>();
  args.slot_rows = x.slot_rows.as<std::int32_t>();
  args.lengths = x.lengths.as<std::int32_t>();
  args.active_partitions = faults.has(Fault::workspace_on_host) ? nullptr : x.active_partitions.as<std::int32_t>();
  args.counters = x.counters.as<std::int32_t>();
  args.counters_zeroed = x.counter_count();
  if (faults.has(Fault::scratch_zero_outside)) args.counters_zeroed = 0;
  if (faults.has(Fault::scratch_zero_short)) args.counters_zeroed = kHeads / 2;
  return args;
}

XqaDecodeArgs decode_args(const AttentionBuffers& b, const XqaBuffers& x, const OutputBuffers& output) {
  XqaDecodeArgs args;
  args.q = b.q.as<void>();
  args.q_dtype = b.options.q_dtype();
  args.pool = b.pool.view();
  args.batch = served(b, x);
  args.keys = x.keys.as<std::int64_t>();
  args.slot_rows = x.slot_rows.as<std::int32_t>();
  args.lengths = x.lengths.as<std::int32_t>();
  args.active_partitions = x.active_partitions.as<std::int32_t>();
  args.k_scale = b.options.faults.has(Fault::unknown_pointer) ? &b.host_k_scale : b.scales.as<float>();
  args.v_scale = b.scales.as<float>() + 1;
  args.softmax_scale = softmax_scale();
  args.slots = x.slots;
  args.heads = kHeads;
  args.partitions = x.partitions;
  args.partition_tokens = x.partition_tokens;
  args.partials = reinterpret_cast<void*>(x.partials_address());
  args.partial_dtype = x.partial_dtype;
  args.partial_lse = x.partial_lse.as<float>();
  args.counters = x.counters.as<std::int32_t>();
  args.every_row = x.group_rows == 0;
  args.wide = b.options.wide_splits();
  args.out_dtype = b.options.q_dtype();
  args.out = output.out.as<void>();
  args.lse = output.lse.as<float>();
  return args;
}

}  // namespace refrain
