#include "runtime/steps/faults.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace refrain {
namespace {

constexpr StepSet kGrouped{StepKind::grouped};
constexpr StepSet kDecode{StepKind::xqa, StepKind::mtp_verify};
constexpr StepSet kAttention{StepKind::grouped, StepKind::xqa, StepKind::mtp_verify};
constexpr StepSet kMla{StepKind::mla_prefill, StepKind::mla_decode};
constexpr StepSet kMlaDecode{StepKind::mla_decode};

constexpr std::array kFaults = {
    FaultInfo{.fault = Fault::kernel_zero_off,
              .name = "kernel-zero-off",
              .steps = kGrouped,
              .rules = "",
              .what = "the kernel multiplies P = 0 with whatever an unattended K/V row holds"},
    FaultInfo{.fault = Fault::pad_fix_off,
              .name = "pad-fix-off",
              .steps = kGrouped,
              .rules = "RF304",
              .what = "padding entries keep naming the null block"},
    FaultInfo{
        .fault = Fault::pad_fix_outside,
        .name = "pad-fix-outside",
        .steps = kGrouped,
        .rules = "RF304",
        .what = "pad_fix, in place of the planner, runs once, eagerly, before the capture; implies kernel-zero-off"},
    FaultInfo{
        .fault = Fault::pad_fix_late,
        .name = "pad-fix-late",
        .steps = kGrouped,
        .rules = "RF305",
        .what = "pad_fix, in place of the planner, runs after the attention that needs it; implies kernel-zero-off"},
    FaultInfo{.fault = Fault::scratch_zero_outside,
              .name = "scratch-zero-outside",
              .steps = kAttention,
              .rules = "RF301",
              .what = "split counters are zeroed once, before the capture"},
    FaultInfo{.fault = Fault::scratch_zero_short,
              .name = "scratch-zero-short",
              .steps = kAttention,
              .rules = "RF302",
              .what = "only half of the first row's split counters is zeroed"},
    FaultInfo{.fault = Fault::workspace_fp16,
              .name = "workspace-fp16",
              .steps = kDecode,
              .rules = "RF204",
              .what = "split partials are fp16 though the KV cache is E4M3"},
    FaultInfo{.fault = Fault::workspace_on_host,
              .name = "workspace-on-host",
              .steps = kAttention,
              .rules = "RF205",
              .what = "the partition count is copied from a host list inside the capture"},
    FaultInfo{.fault = Fault::workspace_grown,
              .name = "workspace-grown",
              .steps = kAttention,
              .rules = "RF206",
              .what = "the workspace is freed and taken again larger, beside the arena, after the capture"},
    FaultInfo{.fault = Fault::host_sync,
              .name = "host-sync",
              .steps = kAttention,
              .rules = "RF101",
              .what = "the step synchronises its stream while it is captured"},
    FaultInfo{.fault = Fault::other_thread_sync,
              .name = "other-thread-sync",
              .steps = kAttention,
              .rules = "RF503",
              .what = "another thread synchronises the device during the capture"},
    FaultInfo{.fault = Fault::sync_copy,
              .name = "sync-copy",
              .steps = kAttention,
              .rules = "RF502",
              .what = "a blocking copy runs during the capture and is in no replay"},
    FaultInfo{.fault = Fault::pageable_copy,
              .name = "pageable-copy",
              .steps = kAttention,
              .rules = "RF103",
              .what = "the step copies its LSE to pageable memory"},
    FaultInfo{.fault = Fault::alloc_in_capture,
              .name = "alloc-in-capture",
              .steps = kAttention,
              .rules = "RF201",
              .what = "the step allocates device memory during a relaxed capture"},
    FaultInfo{.fault = Fault::other_stream,
              .name = "other-stream",
              .steps = kAttention,
              .rules = "RF501",
              .what = "kv_append is launched on a stream that is not captured"},
    FaultInfo{.fault = Fault::unjoined_fork,
              .name = "unjoined-fork",
              .steps = kAttention,
              .rules = "RF505",
              .what = "a side stream is forked off the capture and never joined"},
    FaultInfo{.fault = Fault::stale_pointer,
              .name = "stale-pointer",
              .steps = kAttention,
              .rules = "RF401",
              .what = "the workspace is freed after the capture"},
    FaultInfo{.fault = Fault::reused_address,
              .name = "reused-address",
              .steps = kAttention,
              .rules = "RF402",
              .what = "the workspace is freed after the capture, and its bytes go to another buffer"},
    FaultInfo{.fault = Fault::unknown_pointer,
              .name = "unknown-pointer",
              .steps = kAttention,
              .rules = "RF404",
              .what = "the decode is handed a K scale in host memory that the driver does not know"},
    FaultInfo{.fault = Fault::input_rebound,
              .name = "input-rebound",
              .steps = kAttention,
              .rules = "RF406",
              .what = "the queries move to another buffer after the capture, and the graph reads the old one"},
    FaultInfo{.fault = Fault::pad_rows_unwritten,
              .name = "pad-rows-unwritten",
              .steps = kAttention,
              .rules = "RF308",
              .what = "pad rows of the output are written by nobody; implies --bucket rows + 5"},
    FaultInfo{.fault = Fault::stale_padding,
              .name = "stale-padding",
              .steps = kAttention,
              .rules = "RF311",
              .what = "the host refreshes the real rows of its tables alone; implies --bucket rows + 5"},
    FaultInfo{.fault = Fault::null_block_written,
              .name = "null-block-written",
              .steps = kAttention,
              .rules = "RF310",
              .what = "kv_append writes pad rows to the null block; implies --bucket rows + 5"},
    FaultInfo{.fault = Fault::mla_clamp_slot0,
              .name = "mla-clamp-slot0",
              .steps = kMla,
              .rules = "",
              .verify = "RF901",
              .what = "what is not attended gathers slot 0's bytes and is masked in the score alone; implies "
                      "--page-size 64, for the split zeroes slot 0"},
    FaultInfo{.fault = Fault::mla_neg_inf_max,
              .name = "mla-neg-inf-max",
              .steps = kMla,
              .rules = "",
              .verify = "RF901,RF902",
              .what = "the running max starts at -inf and is subtracted unguarded: a masked chunk is NaN"},
    FaultInfo{
        .fault = Fault::mla_mask_before_scale,
        .name = "mla-mask-before-scale",
        .steps = kMla,
        .rules = "",
        .verify = "RF901",
        .what = "the mask's -1e30 is scaled: a row without entries is the mean of slot 0; implies mla-clamp-slot0"},
    FaultInfo{.fault = Fault::split_scratch_unzeroed,
              .name = "split-scratch-unzeroed",
              .steps = kMla,
              .rules = "RF301",
              .what = "the page split clears neither its touched mask nor the scratch's page 0"},
    FaultInfo{.fault = Fault::split_zero_page0_off,
              .name = "split-zero-page0-off",
              .steps = kMla,
              .rules = "RF301",
              .what = "the page split leaves the scratch's page 0 as it was"},
    FaultInfo{.fault = Fault::split_int32_offsets,
              .name = "split-int32-offsets",
              .steps = kMla,
              .rules = "RF408",
              .what = "the page split computes page offsets in 32 bits; implies a pool that reaches past 2^31 bytes"},
    FaultInfo{.fault = Fault::split_grown,
              .name = "split-grown",
              .steps = kMla,
              .rules = "RF206",
              .what = "the split's scratch is freed and taken again larger, beside the arena, after the capture"},
    FaultInfo{.fault = Fault::merge_empty_by_value,
              .name = "merge-empty-by-value",
              .steps = kMlaDecode,
              .rules = "",
              .verify = "RF901",
              .what = "the merge multiplies the partial of a split without entries with 0"},
    FaultInfo{.fault = Fault::topk_past_length,
              .name = "topk-past-length",
              .steps = kMla,
              .rules = "",
              .verify = "RF901",
              .what = "index entries at and past a row's length are attended"},
    FaultInfo{.fault = Fault::baked_length,
              .name = "baked-length",
              .steps = {StepKind::grouped, StepKind::xqa},
              .rules = "",
              .twice = "RF405",
              .what = "kv_append is told the count of real rows by value, and not read it from device memory alone"},
    FaultInfo{.fault = Fault::draft_scale_missing,
              .name = "draft-scale-missing",
              .steps = {StepKind::mtp_verify},
              .rules = "",
              .refused = true,
              .what = "the draft layer has no calibrated V scale"},
};

}  // namespace

const char* to_string(StepKind step) noexcept {
  switch (step) {
    case StepKind::grouped: return "grouped_prefill";
    case StepKind::xqa: return "xqa_decode";
    case StepKind::mla_prefill: return "sparse_mla_prefill";
    case StepKind::mla_decode: return "sparse_mla_decode";
    case StepKind::mtp_verify: return "mtp_verify";
  }
  return "";
}

const StepKind* find_step(std::string_view name) noexcept {
  const auto found = std::find_if(std::begin(kStepKinds), std::end(kStepKinds),
                                  [&](StepKind step) { return name == to_string(step); });
  return found == std::end(kStepKinds) ? nullptr : found;
}

void FaultSet::add(Fault fault) noexcept {
  bits_ |= std::uint64_t{1} << static_cast<unsigned>(fault);
  if (fault == Fault::pad_fix_outside || fault == Fault::pad_fix_late) add(Fault::kernel_zero_off);
  if (fault == Fault::mla_mask_before_scale) add(Fault::mla_clamp_slot0);
}

bool FaultSet::any_of(std::initializer_list<Fault> faults) const noexcept {
  return std::any_of(faults.begin(), faults.end(), [&](Fault fault) { return has(fault); });
}

std::span<const FaultInfo> fault_table() {
  return kFaults;
}

const FaultInfo& info(Fault fault) {
  const auto found = std::find_if(kFaults.begin(), kFaults.end(), [&](const FaultInfo& f) { return f.fault == fault; });
  assert(found != kFaults.end());
  return *found;
}

const FaultInfo* find_fault(std::string_view name) {
  const auto found = std::find_if(kFaults.begin(), kFaults.end(), [&](const FaultInfo& f) { return name == f.name; });
  return found == kFaults.end() ? nullptr : &*found;
}

bool fits(const FaultInfo& fault, StepKind step) noexcept {
  return fault.steps.has(step);
}

}  // namespace refrain
