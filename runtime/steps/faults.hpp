// The named faults: bugs from real reports, put back on purpose, each with the
// steps that it fits and the rules that must catch it. One table; `--list-faults`
// prints it and the tests run through it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace refrain {

enum class StepKind : std::uint8_t { grouped, xqa };
[[nodiscard]] const char* to_string(StepKind) noexcept;

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
  bool grouped_prefill, xqa_decode;  ///< the steps that it fits
  const char* rules;                 ///< the audit's errors for it, comma-separated; empty = none
  const char* what;
};

[[nodiscard]] std::span<const FaultInfo> fault_table();
[[nodiscard]] const FaultInfo& info(Fault fault);
/// Null when there is no such fault.
[[nodiscard]] const FaultInfo* find_fault(std::string_view name);
[[nodiscard]] bool fits(const FaultInfo& fault, StepKind step) noexcept;

}  // namespace refrain
