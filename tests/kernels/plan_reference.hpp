// The grouped plan by definition: a std::map of what the eight rows select, token
// by token, then categories in order. Independent of kernels/plan_grouped_host.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/kernels/scene.hpp"

namespace refrain::test {

struct PlannedColumn {
  std::int32_t microblock = 0;
  std::uint32_t mask = 0;
  friend bool operator==(const PlannedColumn&, const PlannedColumn&) = default;
};

/// Columns of one group, category padding included; empty for a group that is not planned.
[[nodiscard]] std::vector<PlannedColumn> reference_plan(const Scene& scene, std::int32_t group);

/// 16-row M tiles that a mask touches, from the rows of its queries.
[[nodiscard]] std::uint32_t reference_category(std::uint32_t mask);

/// NaN elements that `dims` poisoned dims of the null block give without any protection: 16 rows x dims
/// for each M tile of a category that holds padding, from the plan as written.
[[nodiscard]] std::int64_t expected_nan(const PlanGroupedArgs& plan, std::int64_t dims);

}  // namespace refrain::test
