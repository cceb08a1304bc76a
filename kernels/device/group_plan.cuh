// What both ways to plan one group share: the group's eight selections and the
// columns that each category takes. A category begins at a multiple of a tile, and
// the columns between its last entry and the next category are padding. Columns at
// or past kGroupedWidth are dropped, as the twin drops them.
#pragma once

#include <cstdint>

#include "kernels/device/selection.cuh"
#include "kernels/plan_grouped.hpp"

namespace refrain::device {

inline constexpr std::int32_t kCategories = 8;  ///< subsets of three M tiles; the empty one never has an entry

/// In shared memory, one a block.
struct GroupPlan {
  RowSelection rows[kGroupRows];
  std::int32_t count[kCategories];  ///< entries of a category
  std::int32_t entries_before[kCategories];
  std::int32_t column_before[kCategories + 1];
  std::int32_t first;  ///< the microblock of column 0, for the padding; 0 where there is none

  /// By one warp, lane by lane; `own` is the count of category `lane`.
  __device__ void lay_out(int lane, std::int32_t own) {
    if (lane >= kCategories) own = 0;
    const std::int32_t columns = (own + kTileMicroblocks - 1) / kTileMicroblocks * kTileMicroblocks;
    std::int32_t entries_upto = own, columns_upto = columns;
#pragma unroll
    for (int step = 1; step < kCategories; step *= 2) {
      const std::int32_t entries = __shfl_up_sync(~0u, entries_upto, step);
      const std::int32_t other_columns = __shfl_up_sync(~0u, columns_upto, step);
      if (lane >= step) entries_upto += entries, columns_upto += other_columns;
    }
    if (lane >= kCategories) return;
    count[lane] = own;
    entries_before[lane] = entries_upto - own;
    column_before[lane] = columns_upto - columns;
    if (lane == kCategories - 1) column_before[kCategories] = columns_upto;
  }

  [[nodiscard]] __device__ std::int32_t used_columns() const {
    return min(column_before[kCategories], kGroupedWidth);
  }
};

/// One group's part of the outputs.
struct GroupOut {
  std::int32_t* microblocks;
  std::uint32_t* masks;
  std::int32_t* tokens;
  bool fix_padding;

  __device__ GroupOut(const PlanGroupedArgs& args, std::int32_t group)
      : microblocks(args.microblocks + std::int64_t{group} * kGroupedWidth),
        masks(args.masks + std::int64_t{group} * kGroupedWidth),
        tokens(args.tokens + group),
        fix_padding(args.fix_padding) {}

  __device__ void put(std::int32_t column, std::int32_t microblock, std::uint32_t mask) const {
    if (column >= kGroupedWidth) return;
    microblocks[column] = microblock;
    masks[column] = mask;
  }

  /// Columns from `first` on, by all threads of the block.
  __device__ void put_unused(std::int32_t first, std::int32_t pad) const {
    for (std::int32_t column = first + static_cast<std::int32_t>(threadIdx.x); column < kGroupedWidth;
         column += static_cast<std::int32_t>(blockDim.x))
      put(column, pad, 0);
  }

  /// Everything that is no entry, and the count of tokens; by all threads of the block.
  __device__ void put_rest(const GroupPlan& plan) const {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    const std::int32_t pad = fix_padding ? plan.first : 0;
    if (thread < kCategories * kTileMicroblocks) {
      const std::int32_t category = thread / kTileMicroblocks;
      const std::int32_t column = plan.column_before[category] + plan.count[category] + thread % kTileMicroblocks;
      if (column < plan.column_before[category + 1]) put(column, pad, 0);
    }
    put_unused(plan.used_columns(), pad);
    if (thread == 0) *tokens = kMicroblockTokens * plan.used_columns();
  }
};

/// The least over all who select a microblock orders it within its category.
[[nodiscard]] __device__ inline std::uint32_t owner_of(std::int32_t query, std::int32_t token) {
  return static_cast<std::uint32_t>(query) << 29 | static_cast<std::uint32_t>(token) >> 2;
}

}  // namespace refrain::device
