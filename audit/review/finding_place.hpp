// Where in its trace a finding stands: at a call, in a step, at a time. The page,
// the trace for Perfetto and the tables put it at the same place for it. A finding
// about the whole trace or about a graph has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "audit/review/review.hpp"

namespace refrain {

struct FindingPlace {
  const ApiEvent* call = nullptr;
  std::optional<std::size_t> step;     ///< index into Review::steps
  std::optional<std::uint64_t> at_ns;  ///< begin of the call, or of the step where no call is named
};

[[nodiscard]] FindingPlace place_of(const Review& review, const Finding& finding);

/// Null where no call has this sequence number.
[[nodiscard]] const ApiEvent* find_call(const Timeline& timeline, std::uint64_t sequence);

/// The call's thread was in the step when it made the call.
[[nodiscard]] bool belongs_to(const ApiEvent& call, const StepStats& step) noexcept;

}  // namespace refrain
