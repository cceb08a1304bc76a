#include "runtime/steps/faults.hpp"

#include <algorithm>
#include <array>
#include <cassert>

namespace refrain {
namespace {

constexpr std::array kFaults = {
    FaultInfo{.fault = Fault::kernel_zero_off,
              .name = "kernel-zero-off",
              .grouped_prefill = true,
              .xqa_decode = false,
              .rules = "",
              .what = "the kernel multiplies P = 0 with whatever an unattended K/V row holds"},
    FaultInfo{.fault = Fault::pad_fix_off,
              .name = "pad-fix-off",
              .grouped_prefill = true,
              .xqa_decode = false,
              .rules = "RF304",
              .what = "padding entries keep naming the null block"},
    FaultInfo{.fault = Fault::pad_fix_outside,
              .name = "pad-fix-outside",
              .grouped_prefill = true,
              .xqa_decode = false,
              .rules = "RF304",
              .what = "pad_fix runs once, eagerly, before the capture; implies kernel-zero-off"},
    FaultInfo{.fault = Fault::pad_fix_late,
              .name = "pad-fix-late",
              .grouped_prefill = true,
              .xqa_decode = false,
              .rules = "RF305",
              .what = "pad_fix runs after the attention that needs it; implies kernel-zero-off"},
    FaultInfo{.fault = Fault::scratch_zero_outside,
              .name = "scratch-zero-outside",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF301",
              .what = "split counters are zeroed once, before the capture"},
    FaultInfo{.fault = Fault::scratch_zero_short,
              .name = "scratch-zero-short",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF302",
              .what = "only half of the first row's split counters is zeroed"},
    FaultInfo{.fault = Fault::workspace_fp16,
              .name = "workspace-fp16",
              .grouped_prefill = false,
              .xqa_decode = true,
              .rules = "RF204",
              .what = "split partials are fp16 though the KV cache is E4M3"},
    FaultInfo{.fault = Fault::workspace_on_host,
              .name = "workspace-on-host",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF205",
              .what = "the partition count is copied from a host list inside the capture"},
    FaultInfo{.fault = Fault::workspace_grown,
              .name = "workspace-grown",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF206",
              .what = "the workspace is freed and taken again larger, beside the arena, after the capture"},
    FaultInfo{.fault = Fault::host_sync,
              .name = "host-sync",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF101",
              .what = "the step synchronises its stream while it is captured"},
    FaultInfo{.fault = Fault::other_thread_sync,
              .name = "other-thread-sync",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF503",
              .what = "another thread synchronises the device during the capture"},
    FaultInfo{.fault = Fault::sync_copy,
              .name = "sync-copy",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF502",
              .what = "a blocking copy runs during the capture and is in no replay"},
    FaultInfo{.fault = Fault::pageable_copy,
              .name = "pageable-copy",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF103",
              .what = "the step copies its LSE to pageable memory"},
    FaultInfo{.fault = Fault::alloc_in_capture,
              .name = "alloc-in-capture",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF201",
              .what = "the step allocates device memory during a relaxed capture"},
    FaultInfo{.fault = Fault::other_stream,
              .name = "other-stream",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF501",
              .what = "kv_append is launched on a stream that is not captured"},
    FaultInfo{.fault = Fault::unjoined_fork,
              .name = "unjoined-fork",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF505",
              .what = "a side stream is forked off the capture and never joined"},
    FaultInfo{.fault = Fault::stale_pointer,
              .name = "stale-pointer",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF401",
              .what = "the workspace is freed after the capture"},
    FaultInfo{.fault = Fault::reused_address,
              .name = "reused-address",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF402",
              .what = "the workspace is freed after the capture, and its bytes go to another buffer"},
    FaultInfo{.fault = Fault::unknown_pointer,
              .name = "unknown-pointer",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF404",
              .what = "the decode is handed a K scale in host memory that the driver does not know"},
    FaultInfo{.fault = Fault::input_rebound,
              .name = "input-rebound",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF406",
              .what = "the queries move to another buffer after the capture, and the graph reads the old one"},
    FaultInfo{.fault = Fault::pad_rows_unwritten,
              .name = "pad-rows-unwritten",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF308",
              .what = "pad rows of the output are written by nobody; implies --bucket rows + 5"},
    FaultInfo{.fault = Fault::stale_padding,
              .name = "stale-padding",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF311",
              .what = "the host refreshes the real rows of its tables alone; implies --bucket rows + 5"},
    FaultInfo{.fault = Fault::null_block_written,
              .name = "null-block-written",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF310",
              .what = "kv_append writes pad rows to the null block; implies --bucket rows + 5"},
};

}  // namespace

const char* to_string(StepKind step) noexcept {
  return step == StepKind::grouped ? "grouped_prefill" : "xqa_decode";
}

void FaultSet::add(Fault fault) noexcept {
  bits_ |= std::uint64_t{1} << static_cast<unsigned>(fault);
  if (fault == Fault::pad_fix_outside || fault == Fault::pad_fix_late) add(Fault::kernel_zero_off);
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
  return step == StepKind::grouped ? fault.grouped_prefill : fault.xqa_decode;
}

}  // namespace refrain
