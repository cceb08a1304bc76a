// What each step of a timeline cost: counts of what its thread asked for, and
// the time that the device spent on it and did not. Numbers, no judgement. Device
// time is known only where a profiler recorded device work. Work belongs to the step
// whose call handed it out, however late the device came to it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "traces/timeline.hpp"

namespace refrain {

/// Copies as people ask about them: by direction, and whether host memory was pageable.
enum class CopyClass : std::uint8_t { h2d_pageable, h2d_pinned, d2h_pageable, d2h_pinned, d2d, other };
inline constexpr std::size_t kCopyClasses = 6;
[[nodiscard]] const char* to_string(CopyClass) noexcept;  ///< `h2d pageable`

struct Tally {
  std::uint64_t count = 0, bytes = 0;
};

struct StepStats {
  StringId name = 0;
  std::uint32_t thread = 0;
  std::uint64_t first = 0, last = 0;            ///< sequence numbers; `first` names the range
  std::uint64_t start_ns = 0, end_ns = 0;       ///< of the host's range
  std::uint64_t replays = 0;                    ///< graph launches that succeeded
  std::uint64_t replayed_nodes = 0;             ///< device work of these replays; graph-mode records count none
  std::optional<std::uint64_t> captured_nodes;  ///< nodes that the replayed execs hold, where the input tells
  std::uint64_t eager_launches = 0;             ///< kernels, one call each
  std::uint64_t syncs = 0;                 ///< calls that wait for the device: stream, event, device, blocking copies
  std::uint64_t queries = 0;               ///< stream and event queries
  std::array<Tally, kCopyClasses> copies;  ///< asked for by a call of their own, not by a replay
  std::uint64_t replayed_copies = 0;       ///< inside replays
  std::uint64_t instantiations = 0, updates = 0, module_loads = 0, allocations = 0, frees = 0;
  std::uint64_t host_wait_ns = 0;  ///< in these syncs
  /// Of the step's device work, over all streams: the union of its spans, and what the union lacks between its first
  /// start and its last end. Nothing where no device work of the step was recorded.
  std::optional<std::uint64_t> gpu_busy_ns, gpu_idle_ns;
  std::optional<std::uint64_t> device_start_ns, device_end_ns;
  /// From the begin of the step's first graph launch (first launch where it replays none) to the device's first work of
  /// it.
  std::optional<std::uint64_t> launch_gap_ns;
  /// From the end of the device work of the replay before (of this thread) to the begin of this step's first replay's.
  std::optional<std::uint64_t> between_replays_ns;
  /// Where the payload or the name of the step, or of a range in it, gives them (traces/step_rows.hpp): rows of the
  /// bucket, and those in use.
  std::optional<std::uint64_t> rows, real_rows;
};

/// How long the host was in the step.
[[nodiscard]] constexpr std::uint64_t host_ns(const StepStats& step) noexcept {
  return step.end_ns > step.start_ns ? step.end_ns - step.start_ns : 0;
}

/// Sums over steps; of what is not known for some step, over those where it is, whose number stands beside.
struct StepTotals {
  std::uint64_t steps = 0;
  StepStats sum;                       ///< name, times and sequence numbers are not set
  std::uint64_t host_ns = 0;           ///< of the host's ranges; nested steps count in each
  std::uint64_t with_device_time = 0;  ///< steps whose busy and idle time is known
  std::uint64_t with_launch_gap = 0;
  std::uint64_t with_time_between = 0;  ///< between_replays_ns
  std::uint64_t with_captured_nodes = 0;
  std::uint64_t with_rows = 0, with_real_rows = 0;
  std::size_t worst = 0;  ///< index of the step with the longest host range; 0 where there is none
};

/// One for each marked step, in the order in which they begin: the same order and number as audit's steps_of. `graphs`
/// are the recording's, for captured_nodes. Linear in the events but for looking up the call of a piece of work.
[[nodiscard]] std::vector<StepStats> step_stats(const Timeline& timeline, std::span<const Graph> graphs = {});
[[nodiscard]] StepTotals total(const std::vector<StepStats>& steps);

}  // namespace refrain
