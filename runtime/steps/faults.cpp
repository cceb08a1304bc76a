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
              .what = "only the first half of the split counters is zeroed"},
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
    FaultInfo{.fault = Fault::host_sync,
              .name = "host-sync",
              .grouped_prefill = true,
              .xqa_decode = true,
              .rules = "RF101",
              .what = "the step synchronises its stream while it is captured"},
};

}  // namespace

const char* to_string(StepKind step) noexcept {
  return step == StepKind::grouped_prefill ? "grouped_prefill" : "xqa_decode";
}

void FaultSet::add(Fault fault) noexcept {
  bits_ |= 1u << static_cast<unsigned>(fault);
  if (fault == Fault::pad_fix_outside || fault == Fault::pad_fix_late) add(Fault::kernel_zero_off);
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
  return step == StepKind::grouped_prefill ? fault.grouped_prefill : fault.xqa_decode;
}

}  // namespace refrain
