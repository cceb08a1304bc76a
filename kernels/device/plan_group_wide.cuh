// The way to plan a group whose union does not fit the hash table: selections of
// broken blocks, where every entry may be a microblock of its own. No well-formed
// selection comes here. It compares every entry with every other one, which takes
// milliseconds and no more memory than the table, and gives the same plan.
#pragma once

#include <cstdint>

#include "kernels/device/group_plan.cuh"

namespace refrain::device {

inline constexpr std::int32_t kGroupEntries = kGroupRows * kSelectedWidth;

/// In shared memory.
struct WideUnion {
  alignas(16) std::int32_t ids[kGroupEntries];   ///< the microblock that an entry adds, or -1
  std::uint8_t categories[kGroupEntries];        ///< of the entry that stands for its microblock; 0 for all others
  std::int32_t counts[kCategories][kGroupRows];  ///< entries that stand for a microblock, by category and query
};
static_assert(kGroupEntries % 4 == 0);

struct WideEntry {
  std::int64_t id = kNone;
  std::uint32_t bits = 0;  ///< of the mask
};

/// Entry `at` of a row: a whole block is added by its first entry, a broken one by each of its four.
__device__ inline WideEntry wide_entry(const PlanGroupedArgs& args, const RowSelection& s, std::int32_t query,
                                       std::int32_t at) {
  std::uint32_t tokens = 0;
  if (at < 4 * s.complete) {
    const std::int32_t* from = s.blocks + at / 4 * 4;
    const std::int32_t block[4] = {from[0], from[1], from[2], from[3]};
    const bool whole = is_aligned_block(block) && block[3] < s.seq_len;
    if (whole && at % 4 != 0) return {};
    tokens = whole ? 0xFu : 1u << (from[at % 4] & 3);
  } else if (at == 4 * s.complete && s.tail > 0) {
    tokens = (1u << s.tail) - 1u;
  } else {
    return {};
  }
  return {microblock_of(args.batch, args.pool, s, s.blocks[at]), tokens << (4 * query)};
}

struct WideMember {
  std::uint32_t mask = 0;
  std::uint32_t owner = UINT32_MAX;
  std::int32_t first = -1;  ///< the entry that stands for the microblock: the first with the least owner
};

/// Unites all entries that add the microblock `id`.
__device__ inline WideMember wide_member(const PlanGroupedArgs& args, const GroupPlan& plan, const WideUnion& all,
                                         std::int32_t id) {
  WideMember member;
  for (std::int32_t i = 0; i < kGroupEntries; i += 4) {
    const int4 four = *reinterpret_cast<const int4*>(all.ids + i);
    if (four.x != id && four.y != id && four.z != id && four.w != id) continue;
    for (std::int32_t j = i; j < i + 4; ++j) {
      if (all.ids[j] != id) continue;
      const std::int32_t query = j / kSelectedWidth, at = j % kSelectedWidth;
      const RowSelection& s = plan.rows[query];
      member.mask |= wide_entry(args, s, query, at).bits;
      const std::uint32_t owner = owner_of(query, s.blocks[at]);
      if (owner >= member.owner) continue;
      member.owner = owner;
      member.first = j;
    }
  }
  return member;
}

/// Entries of the same category and query that stand before entry `at`; a query's entries sort by token.
__device__ inline std::int32_t wide_rank(const GroupPlan& plan, const WideUnion& all, std::int32_t query,
                                         std::int32_t at) {
  const std::uint8_t* categories = all.categories + query * kSelectedWidth;
  const std::int32_t* tokens = plan.rows[query].blocks;
  std::int32_t rank = 0;
  for (std::int32_t j = 0; j < kSelectedWidth; ++j)
    if (categories[j] == categories[at] && tokens[j] >> 2 < tokens[at] >> 2) ++rank;
  for (std::int32_t q = 0; q < query; ++q) rank += all.counts[categories[at]][q];
  return rank;
}

/// By all threads of a block; `plan.rows` is filled and `plan.first` 0.
__noinline__ __device__ void plan_group_wide(const PlanGroupedArgs& args, const GroupOut& out, GroupPlan& plan,
                                             WideUnion& all) {
  const auto thread = static_cast<std::int32_t>(threadIdx.x), threads = static_cast<std::int32_t>(blockDim.x);
  if (thread < kCategories * kGroupRows) all.counts[thread / kGroupRows][thread % kGroupRows] = 0;
  for (std::int32_t i = thread; i < kGroupEntries; i += threads) {
    const std::int32_t query = i / kSelectedWidth;
    all.ids[i] = static_cast<std::int32_t>(wide_entry(args, plan.rows[query], query, i % kSelectedWidth).id);
  }
  __syncthreads();
  for (std::int32_t i = thread; i < kGroupEntries; i += threads) {
    all.categories[i] = 0;
    if (all.ids[i] < 0) continue;
    const WideMember member = wide_member(args, plan, all, all.ids[i]);
    if (member.first != i) continue;
    all.categories[i] = static_cast<std::uint8_t>(category_of_mask(member.mask));
    atomicAdd(&all.counts[all.categories[i]][i / kSelectedWidth], 1);
  }
  __syncthreads();
  if (thread < 32) {
    std::int32_t own = 0;
    if (thread < kCategories)
      for (const std::int32_t count : all.counts[thread]) own += count;
    plan.lay_out(thread, own);
  }
  __syncthreads();
  for (std::int32_t i = thread; i < kGroupEntries; i += threads) {
    if (all.categories[i] == 0) continue;
    const std::int32_t rank = wide_rank(plan, all, i / kSelectedWidth, i % kSelectedWidth);
    const std::int32_t column = plan.column_before[all.categories[i]] + rank;
    if (column < kGroupedWidth) out.put(column, all.ids[i], wide_member(args, plan, all, all.ids[i]).mask);
    if (column == 0) plan.first = all.ids[i];
  }
  __syncthreads();
  out.put_rest(plan);
}

}  // namespace refrain::device
