// One block a group. The eight selections are united in a hash table in shared
// memory; its entries are sorted by (category, owner), which is unique, so the
// order in which threads insert leaves no trace. A union that the table or the
// sort has no room for takes the slow way of plan_group_wide.cuh.
#include <cassert>
#include <cstdint>

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_scan.cuh>

#include "kernels/device/early_start.cuh"
#include "kernels/device/group_plan.cuh"
#include "kernels/device/plan_group_wide.cuh"
#include "kernels/launchers.hpp"
#include "kernels/plan_grouped.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

using device::GroupOut;
using device::GroupPlan;
using device::RowSelection;

constexpr std::int32_t kThreads = 512;
constexpr std::int32_t kCapacity = 8192, kSlotsPerThread = kCapacity / kThreads;
constexpr std::int32_t kMaxProbes = 512;  ///< far more than a table that is half full ever needs
constexpr std::int32_t kItems = 9, kSortable = kThreads * kItems;
constexpr int kMaxTokenBits = 26;  ///< 3 of category, 3 of query and these make a 32-bit sort key
static_assert(kSortable >= kGroupRows * (kSelectedBlocks + 1) && kThreads == kSelectedBlocks);

using Sort = cub::BlockRadixSort<std::uint32_t, kThreads, kItems, std::uint16_t>;
using Scan = cub::BlockScan<std::int32_t, kThreads>;

/// The table's occupied slots, close together, on their way to the sort.
struct Compacted {
  std::uint32_t keys[kSortable];
  std::uint16_t slots[kSortable];
};

struct Table {
  std::int32_t ids[kCapacity];
  std::uint32_t masks[kCapacity];
  union {
    std::uint32_t owners[kCapacity];
    Compacted compacted;
    typename Sort::TempStorage sort;
  };
};

union Shared {
  Table table;
  device::WideUnion wide;
};
static_assert(sizeof(Shared) == 12 * kCapacity, "two blocks fit a multiprocessor of 228 KB");

__device__ void clear(Table& table) {
  for (std::int32_t i = static_cast<std::int32_t>(threadIdx.x); i < kCapacity; i += kThreads) {
    table.ids[i] = -1;
    table.masks[i] = 0;
    table.owners[i] = UINT32_MAX;
  }
}

/// False when there is no room near the microblock's place.
__device__ bool insert(Table& table, std::int32_t id, std::int32_t query, std::int32_t token, std::uint32_t tokens) {
  std::uint32_t at = static_cast<std::uint32_t>(id) * 2654435761u >> 19;  // the product's high bits: ids have gaps
  static_assert(1u << (32 - 19) == kCapacity);
  for (std::int32_t probe = 0; probe < kMaxProbes; ++probe, at = (at + 1) % kCapacity) {
    const std::int32_t found = atomicCAS(&table.ids[at], -1, id);
    if (found != -1 && found != id) continue;
    atomicOr(&table.masks[at], tokens << (4 * query));
    atomicMin(&table.owners[at], device::owner_of(query, token));
    return true;
  }
  return false;
}

/// A block that is not one whole microblock, entry by entry.
__device__ bool insert_broken(const PlanGroupedArgs& args, const RowSelection& s, Table& table, std::int32_t query,
                              std::int32_t block) {
  bool room = true;
  for (std::int32_t i = 4 * block; i < 4 * block + 4; ++i) {
    const std::int32_t token = s.blocks[i];
    const std::int64_t id = device::microblock_of(args.batch, args.pool, s, token);
    if (id != device::kNone)
      room = insert(table, static_cast<std::int32_t>(id), query, token, 1u << (token & 3)) && room;
  }
  return room;
}

/// This thread's complete block of queries [first, first + 4): all loads before all insertions.
__device__ bool insert_blocks(const PlanGroupedArgs& args, const GroupPlan& plan, Table& table, std::int32_t first) {
  constexpr std::int32_t kQueries = 4;
  const auto block = static_cast<std::int32_t>(threadIdx.x);
  std::int32_t entries[kQueries][4];
  std::int64_t ids[kQueries];
  bool whole[kQueries], room = true;
#pragma unroll
  for (std::int32_t q = 0; q < kQueries; ++q)
    for (std::int32_t i = 0; i < 4; ++i)
      entries[q][i] = block < plan.rows[first + q].complete ? plan.rows[first + q].blocks[4 * block + i] : -1;
#pragma unroll
  for (std::int32_t q = 0; q < kQueries; ++q) {
    const RowSelection& s = plan.rows[first + q];
    whole[q] = device::is_aligned_block(entries[q]) && entries[q][3] < s.seq_len;
    ids[q] = whole[q] ? device::microblock_of(args.batch, args.pool, s, entries[q][0]) : device::kNone;
  }
#pragma unroll
  for (std::int32_t q = 0; q < kQueries; ++q) {
    if (ids[q] != device::kNone)
      room = insert(table, static_cast<std::int32_t>(ids[q]), first + q, entries[q][0], 0xFu) && room;
    else if (!whole[q] && block < plan.rows[first + q].complete)
      room = insert_broken(args, plan.rows[first + q], table, first + q, block) && room;
  }
  return room;
}

__device__ bool insert_tail(const PlanGroupedArgs& args, const RowSelection& s, Table& table, std::int32_t query) {
  if (s.tail == 0) return true;
  const std::int64_t id = device::microblock_of(args.batch, args.pool, s, s.tail_first);
  return id == device::kNone || insert(table, static_cast<std::int32_t>(id), query, s.tail_first, (1u << s.tail) - 1u);
}

/// The whole union, by all threads; the same answer in every thread.
__device__ bool unite(const PlanGroupedArgs& args, const GroupPlan& plan, Table& table) {
  clear(table);
  __syncthreads();
  bool room = true;
  for (std::int32_t first = 0; first < kGroupRows; first += 4) room = insert_blocks(args, plan, table, first) && room;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (thread < kGroupRows) room = insert_tail(args, plan.rows[thread], table, thread) && room;
  return __syncthreads_and(room);
}

/// Adds this thread's entries to the counts of their categories, a warp at a time.
__device__ void count_categories(GroupPlan& plan, const std::uint32_t (&categories)[kSlotsPerThread]) {
  for (std::uint32_t c = 1; c < device::kCategories; ++c) {
    std::int32_t mine = 0;
#pragma unroll
    for (std::int32_t i = 0; i < kSlotsPerThread; ++i) mine += categories[i] == c ? 1 : 0;
    mine = __reduce_add_sync(~0u, mine);
    if (threadIdx.x % 32 == 0 && mine != 0) atomicAdd(&plan.count[c], mine);
  }
}

/// Moves (sort key, slot) of every occupied slot to `table.compacted`, fills the rest with the last key of all,
/// and lays the categories out. Returns how many there are; above kSortable nothing is moved.
__device__ std::int32_t compact(Table& table, GroupPlan& plan, int token_bits) {
  __shared__ typename Scan::TempStorage storage;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  std::uint32_t keys[kSlotsPerThread], categories[kSlotsPerThread];
  std::int32_t mine = 0, before = 0, all = 0;
#pragma unroll
  for (std::int32_t i = 0; i < kSlotsPerThread; ++i) {
    const std::int32_t slot = i * kThreads + thread;
    categories[i] = table.ids[slot] < 0 ? 0 : category_of_mask(table.masks[slot]);
    const std::uint32_t owner = table.owners[slot], token_block = owner & ((1u << 29) - 1u);
    keys[i] = (categories[i] << 3 | owner >> 29) << token_bits | token_block;
    mine += categories[i] != 0 ? 1 : 0;
  }
  Scan(storage).ExclusiveSum(mine, before, all);
  count_categories(plan, categories);
  __syncthreads();  // owners are read, counts are complete
  if (thread == 0) plan.lay_out();
  if (all > kSortable) return all;
#pragma unroll
  for (std::int32_t i = 0; i < kSlotsPerThread; ++i) {
    if (categories[i] == 0) continue;
    table.compacted.keys[before] = keys[i];
    table.compacted.slots[before++] = static_cast<std::uint16_t>(i * kThreads + thread);
  }
  // All ones would be query 7 in the category of all M tiles, which the least query of a mask can't be.
  for (std::int32_t i = all + thread; i < kSortable; i += kThreads) table.compacted.keys[i] = UINT32_MAX;
  __syncthreads();
  return all;
}

/// By all threads: sorts what compact left and writes the entries.
__device__ void sort_and_put(Table& table, const GroupPlan& plan, const GroupOut& out, std::int32_t entries,
                             int token_bits) {
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  std::uint32_t keys[kItems];
  std::uint16_t slots[kItems];
#pragma unroll
  for (std::int32_t i = 0; i < kItems; ++i) {
    keys[i] = table.compacted.keys[i * kThreads + thread];
    slots[i] = table.compacted.slots[i * kThreads + thread];
  }
  __syncthreads();  // the sort's storage lies over them
  Sort(table.sort).SortBlockedToStriped(keys, slots, 0, token_bits + 6);
#pragma unroll
  for (std::int32_t i = 0; i < kItems; ++i) {
    const std::int32_t at = i * kThreads + thread;
    if (at >= entries) break;
    const std::uint32_t category = keys[i] >> (token_bits + 3);
    const std::int32_t column = plan.column_before[category] + at - plan.entries_before[category];
    out.put(column, table.ids[slots[i]], table.masks[slots[i]]);
  }
}

__global__ void __launch_bounds__(kThreads, 2) plan_grouped_kernel(const PlanGroupedArgs args, int token_bits) {
  device::wait_for_previous();
  extern __shared__ uint4 dynamic[];
  __shared__ GroupPlan plan;
  Shared& shared = *reinterpret_cast<Shared*>(dynamic);
  const auto group = static_cast<std::int32_t>(blockIdx.x), thread = static_cast<std::int32_t>(threadIdx.x);
  const GroupOut out(args, group);
  if (group * kGroupRows + kGroupRows > device::real_rows(args.batch)) {
    out.put_unused(0);
    if (thread == 0) *out.tokens = 0;
    return;
  }
  if (thread < kGroupRows)
    plan.rows[thread] = device::row_selection(args.batch, args.selected, group * kGroupRows + thread);
  if (thread < device::kCategories) plan.count[thread] = 0;
  __syncthreads();
  if (token_bits <= kMaxTokenBits && unite(args, plan, shared.table)) {
    const std::int32_t entries = compact(shared.table, plan, token_bits);
    if (entries <= kSortable) {
      sort_and_put(shared.table, plan, out, entries, token_bits);
      out.put_rest(plan);
      return;
    }
  }
  __syncthreads();  // the table's last readers are done
  device::plan_group_wide(args, out, plan, shared.wide);
}

void launch_at(const PlanGroupedArgs& args, KernelPlace place) {
  assert_microblocks(args.pool);
  assert(args.batch.bucket > 0 && args.groups == (args.batch.bucket + kGroupRows - 1) / kGroupRows);
  // Not a stream operation, so it may be called during capture. An error shows up as the launch's.
  static_cast<void>(cudaFuncSetAttribute(plan_grouped_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(sizeof(Shared))));
  const int token_bits = device::token_block_bits(args.batch, args.pool);
  launch_kernel(plan_grouped_kernel, static_cast<unsigned>(args.groups), kThreads, sizeof(Shared), place, args,
                token_bits);
}

}  // namespace

void plan_grouped_launch(const PlanGroupedArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void plan_grouped_launch_early(const PlanGroupedArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
