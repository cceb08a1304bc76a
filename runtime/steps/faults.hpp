// The named faults: bugs from real reports, put back on purpose, each with the
// steps that it fits and the rules that must catch it. One table; `--list-faults`
// prints it and the tests run through it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace refrain {

enum class StepKind : std::uint8_t { grouped, xqa, mla_prefill, mla_decode, mtp_verify };
inline constexpr StepKind kStepKinds[] = {StepKind::grouped, StepKind::xqa, StepKind::mla_prefill, StepKind::mla_decode,
                                          StepKind::mtp_verify};
[[nodiscard]] const char* to_string(StepKind) noexcept;
/// Null when there is no such step.
[[nodiscard]] const StepKind* find_step(std::string_view name) noexcept;
[[nodiscard]] constexpr bool is_mla(StepKind step) noexcept {
  return step == StepKind::mla_prefill || step == StepKind::mla_decode;
}

/// A set of steps.
class StepSet {
 public:
  constexpr StepSet(std::initializer_list<StepKind> steps) {
    for (const StepKind step : steps) bits_ |= 1u << static_cast<unsigned>(step);
  }
  [[nodiscard]] constexpr bool has(StepKind step) const noexcept {
    return (bits_ >> static_cast<unsigned>(step) & 1u) != 0;
  }

 private:
  unsigned bits_ = 0;
};

enum class Fault : std::uint8_t {
  kernel_zero_off,
  pad_fix_off,
  pad_fix_outside,
  pad_fix_late,
  scratch_zero_outside,
  scratch_zero_short,
  workspace_fp16,
  workspace_on_host,
  workspace_grown,
  host_sync,
  other_thread_sync,
  sync_copy,
  pageable_copy,
  alloc_in_capture,
  other_stream,
  unjoined_fork,
  stale_pointer,
  reused_address,
  unknown_pointer,
  input_rebound,
  pad_rows_unwritten,
  stale_padding,
  null_block_written,
  mla_clamp_slot0,
  mla_neg_inf_max,
  mla_mask_before_scale,
  split_scratch_unzeroed,
  split_zero_page0_off,
  split_int32_offsets,
  split_grown,
  merge_empty_by_value,
  topk_past_length,
  draft_scale_missing,
  baked_length,
};

/// A set of faults, with what they imply already in it.
class FaultSet {
 public:
  void add(Fault fault) noexcept;
  [[nodiscard]] bool has(Fault fault) const noexcept { return (bits_ >> static_cast<unsigned>(fault) & 1u) != 0; }
  [[nodiscard]] bool any_of(std::initializer_list<Fault> faults) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }

 private:
  std::uint64_t bits_ = 0;
};

struct FaultInfo {
  Fault fault;
  const char* name;
  StepSet steps;            ///< that it fits
  const char* rules;        ///< the audit's errors for it, comma-separated; empty = none
  const char* verify = "";  ///< where the audit of the graph has none: the replay checks that catch it
  const char* twice = "";   ///< where one graph shows nothing: the rules that two captures break (verify --twice)
  bool refused = false;     ///< the step is not admitted: no graph is made
  const char* what;
};

[[nodiscard]] std::span<const FaultInfo> fault_table();
[[nodiscard]] const FaultInfo& info(Fault fault);
/// Null when there is no such fault.
[[nodiscard]] const FaultInfo* find_fault(std::string_view name);
[[nodiscard]] bool fits(const FaultInfo& fault, StepKind step) noexcept;

}  // namespace refrain
