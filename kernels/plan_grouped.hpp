// plan_grouped: for each group of 8 consecutive query rows, the union of the
// 4-token microblocks that they select, sorted so that tensor-core tiles hold
// microblocks of one category. Only groups whose 8 rows are all real are planned.
// Facts: the grouped page-4 planner (1Cat-vLLM); the layout below is ours to keep.
#pragma once

#include "kernels/batch_view.hpp"
#include "kernels/kv_pool_view.hpp"
#include "kernels/op.hpp"

namespace refrain {

inline constexpr std::int32_t kGroupRows = 8;
inline constexpr std::int32_t kMicroblockTokens = 4;
inline constexpr std::int32_t kTileMicroblocks = 8;   ///< one K/V tile: 32 tokens
inline constexpr std::int32_t kSelectedBlocks = 512;  ///< complete blocks a row may select
inline constexpr std::int32_t kSelectedWidth = 2051;  ///< 512 blocks x 4 tokens + 3 tail tokens
inline constexpr std::int32_t kGroupedWidth = 4160;   ///< 8 x 513 + 56: distinct blocks and category padding always fit
inline constexpr std::int32_t kGroupedHeads =
    6;  ///< query heads of the one KV head; 8 rows x 6 heads = 3 M tiles of 16

/// Bit of `mask`: query_in_group * 4 + token_in_microblock.
/// Category of a microblock: bit i set iff the 16-row M tile i of the 48-row tile (row = 6 * query + head) has an
/// attending query.
[[nodiscard]] constexpr std::uint32_t m_tiles_of_query(std::int32_t query) noexcept {
  const std::int32_t first = kGroupedHeads * query / 16, last = (kGroupedHeads * query + kGroupedHeads - 1) / 16;
  return (1u << first) | (1u << last);
}
/// Bits of a mask whose queries stand in M tile `tile`.
[[nodiscard]] constexpr std::uint32_t mask_of_m_tile(std::int32_t tile) noexcept {
  std::uint32_t mask = 0;
  for (std::int32_t query = 0; query < kGroupRows; ++query)
    if (m_tiles_of_query(query) >> tile & 1u) mask |= 0xFu << (4 * query);
  return mask;
}
[[nodiscard]] constexpr std::uint32_t category_of_mask(std::uint32_t mask) noexcept {
  constexpr std::uint32_t kFirst = mask_of_m_tile(0), kSecond = mask_of_m_tile(1), kThird = mask_of_m_tile(2);
  return ((mask & kFirst) != 0 ? 1u : 0u) | ((mask & kSecond) != 0 ? 2u : 0u) | ((mask & kThird) != 0 ? 4u : 0u);
}

struct PlanGroupedArgs {
  const std::int32_t* selected = nullptr;  ///< [bucket, kSelectedWidth] token indices within the request, -1 = none; on
                                           ///< a device aligned to 16 bytes
  BatchView batch;
  KvPoolView pool;                      ///< only its shape is used
  std::int32_t* microblocks = nullptr;  ///< out [groups, kGroupedWidth]; pad and unused entries: see fix_padding
  std::uint32_t* masks = nullptr;       ///< out [groups, kGroupedWidth]; 0 for pad and unused entries
  std::int32_t* tokens =
      nullptr;              ///< out [groups]: 4 x entries, category padding counted; 0 for a group that is not planned
  std::int32_t groups = 0;  ///< ceil(bucket / 8)
  /// Pad and unused entries of a group name its first microblock (column 0), as pad_fix would leave them. Without it
  /// they are 0, the null block; those of a group without entries are 0 in any case, and its tokens are 0 too.
  bool fix_padding = false;
};

/// Every element of the three outputs is written on every launch. With `fix_padding` it gives `pad_fixed` over
/// microblocks.
extern const Op<PlanGroupedArgs> plan_grouped;

}  // namespace refrain
