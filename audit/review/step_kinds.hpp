// The steps of one kind taken together: those whose names differ in the step's
// number alone. Medians, since the first step of a kind is often its slowest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/review/review.hpp"

namespace refrain {

struct StepKindRow {
  std::string kind;                ///< `decode_step`; empty where the steps have no name
  std::vector<std::size_t> steps;  ///< indices into Review::steps, in order
  StepTotals totals;               ///< `worst` is an index into Review::steps
  std::uint64_t median_host_ns = 0, worst_host_ns = 0;
  /// Of the steps where it is known.
  std::optional<std::uint64_t> median_launch_gap_ns, median_between_ns;
  /// Busy time of the device over the longer of the host's range and the device's span, summed over steps: 0 to 1.
  std::optional<double> gpu_busy;
};

/// In the order in which each kind first began.
[[nodiscard]] std::vector<StepKindRow> step_kinds(const Review& review);

/// Of the busy share: absent where no device work of the step was recorded.
[[nodiscard]] std::optional<double> gpu_busy(const StepStats& step);
/// Calls that copied from or to pageable host memory.
[[nodiscard]] std::uint64_t pageable_copies(const StepStats& step);

}  // namespace refrain
