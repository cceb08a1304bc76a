// One block a group. The eight selections are united in a hash table in shared
// memory; its entries are ordered by (category, owner), which is unique, so the order in
// which threads insert leaves no trace: a count of the keys that share their leading
// bits, and among those few a comparison of each with each. A union that the table or
// the order has no room for takes the slow way of plan_group_wide.cuh.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/group_plan.cuh"
#include "kernels/device/group_table.cuh"
#include "kernels/device/plan_group_wide.cuh"
#include "kernels/launchers.hpp"
#include "kernels/plan_grouped.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

using device::GroupOut;
using device::GroupPlan;
using device::GroupTable;
using device::RowSelection;

constexpr std::int32_t kMaxProbes = 512;  ///< far more than a table that is half full ever needs

union Shared {
  GroupTable table;
  device::WideUnion wide;
};
static_assert(2 * (sizeof(Shared) + sizeof(GroupPlan) + 4 * (device::kManyThreads / 32) + 1024) <= 228 * 1024,
              "two blocks of kManyThreads fit a multiprocessor");

/// False when there is no room near the microblock's place.
__device__ bool insert(GroupTable& table, std::int32_t id, std::int32_t query, std::int32_t token,
                       std::uint32_t tokens) {
  std::uint32_t at = static_cast<std::uint32_t>(id) * 2654435761u >> 19;  // the product's high bits: ids have gaps
  static_assert(1u << (32 - 19) == device::kTableSlots);
  std::int32_t probe = 0;
  for (; probe < kMaxProbes; ++probe, at = (at + 1) % device::kTableSlots) {
    const std::int32_t found = atomicCAS(&table.ids[at], -1, id);
    if (found == -1 || found == id) break;
  }
  if (probe == kMaxProbes) return false;
  // Behind the loop, so that the lanes of a warp do it together, whoever's place took longer to find.
  atomicOr(&table.masks[at], tokens << (4 * query));
  atomicMin(&table.owners[at], device::owner_of(query, token));
  return true;
}

/// A block that is not one whole microblock, entry by entry.
__device__ bool insert_broken(const PlanGroupedArgs& args, const RowSelection& s, GroupTable& table, std::int32_t query,
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

constexpr std::int32_t kQueries = 4;  ///< whose blocks a thread has under way at once

/// One block of each of queries [first, first + 4) of the group: entries that count only where the row has so many
/// blocks, so that they may be read before that is known.
struct Blocks {
  std::int32_t first, at;
  std::int32_t entries[kQueries][4];

  /// kSelectedBlocks threads have the blocks of four queries; where there are no more threads, the other four queries
  /// are theirs at turn 1.
  __device__ Blocks(const PlanGroupedArgs& args, std::int32_t group, std::int32_t turn)
      : first((static_cast<std::int32_t>(threadIdx.x) / kSelectedBlocks + turn) * kQueries),
        at(static_cast<std::int32_t>(threadIdx.x) % kSelectedBlocks) {
    const std::int32_t* from = args.selected + std::int64_t{group * kGroupRows + first} * kSelectedWidth;
#pragma unroll
    for (std::int32_t q = 0; q < kQueries; ++q)
#pragma unroll
      for (std::int32_t i = 0; i < 4; ++i) entries[q][i] = from[q * kSelectedWidth + 4 * at + i];
  }
};

/// Adds the blocks, after one look at all page tables; false where there was no room.
__device__ bool insert_all(const PlanGroupedArgs& args, const GroupPlan& plan, GroupTable& table,
                           const Blocks& blocks) {
  std::int64_t ids[kQueries];
  bool broken[kQueries];  // not one whole microblock: entry by entry
#pragma unroll
  for (std::int32_t q = 0; q < kQueries; ++q) {
    const RowSelection& s = plan.rows[blocks.first + q];
    const bool counts = blocks.at < s.complete;
    const bool whole = device::is_aligned_block(blocks.entries[q]) && blocks.entries[q][3] < s.seq_len;
    ids[q] = counts && whole ? device::microblock_of(args.batch, args.pool, s, blocks.entries[q][0]) : device::kNone;
    broken[q] = counts && !whole;
  }
  bool room = true;
#pragma unroll
  for (std::int32_t q = 0; q < kQueries; ++q) {
    const std::int32_t query = blocks.first + q;
    if (ids[q] != device::kNone)
      room = insert(table, static_cast<std::int32_t>(ids[q]), query, blocks.entries[q][0], 0xFu) && room;
    else if (broken[q])
      room = insert_broken(args, plan.rows[query], table, query, blocks.at) && room;
  }
  return room;
}

__device__ bool insert_tail(const PlanGroupedArgs& args, const RowSelection& s, GroupTable& table, std::int32_t query) {
  if (s.tail == 0) return true;
  const std::int64_t id = device::microblock_of(args.batch, args.pool, s, s.tail_first);
  return id == device::kNone || insert(table, static_cast<std::int32_t>(id), query, s.tail_first, (1u << s.tail) - 1u);
}

/// The whole union, by all threads; the same answer in every thread. The table is clear, `blocks` are those of turn 0.
template <std::int32_t kThreads>
__device__ bool unite(const PlanGroupedArgs& args, const GroupPlan& plan, GroupTable& table, std::int32_t group,
                      const Blocks& blocks) {
  constexpr std::int32_t kTurns = kGroupRows * kSelectedBlocks / (kQueries * kThreads);
  static_assert(kThreads % kSelectedBlocks == 0 && kTurns * kQueries * kThreads == kGroupRows * kSelectedBlocks);
  bool room = insert_all(args, plan, table, blocks);
#pragma unroll
  for (std::int32_t turn = 1; turn < kTurns; ++turn)
    room = insert_all(args, plan, table, Blocks(args, group, turn)) && room;
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (thread < kGroupRows) room = insert_tail(args, plan.rows[thread], table, thread) && room;
  return __syncthreads_and(room);
}

/// A group that is not planned, by all threads.
__device__ void leave_out(const GroupOut& out) {
  out.put_unused(0, 0);
  if (threadIdx.x == 0) *out.tokens = 0;
}

template <std::int32_t kThreads>
__global__ void __launch_bounds__(kThreads, kThreads == device::kManyThreads ? 2 : 1)
    plan_grouped_kernel(const PlanGroupedArgs args, int token_bits) {
  device::wait_for_previous();
  extern __shared__ uint4 dynamic[];
  __shared__ GroupPlan plan;
  Shared& shared = *reinterpret_cast<Shared*>(dynamic);
  const auto group = static_cast<std::int32_t>(blockIdx.x), thread = static_cast<std::int32_t>(threadIdx.x);
  const GroupOut out(args, group);
  const std::int32_t end = group * kGroupRows + kGroupRows;
  if (end > args.batch.bucket) return leave_out(out);
  // Three ways to memory at once; rows between the real ones and the bucket may be read, but count for nothing.
  const std::int32_t rows = device::real_rows(args.batch);
  const Blocks blocks(args, group, 0);
  if (thread >= 32)
    device::clear<kThreads>(shared.table);
  else if (thread < kGroupRows)
    plan.rows[thread] = device::row_selection(args.batch, args.selected, group * kGroupRows + thread);
  else if (thread == kGroupRows)
    plan.first = 0;
  __syncthreads();
  if (end > rows) return leave_out(out);
  if (token_bits <= device::kMaxTokenBits && unite<kThreads>(args, plan, shared.table, group, blocks)) {
    device::GroupOrder<kThreads> order(shared.table, token_bits);
    const std::int32_t entries = order.count(plan);
    if (entries <= device::kOrdered) {
      order.put(plan, out, entries);
      out.put_rest(plan);
      return;
    }
  }
  __syncthreads();  // the table's last readers are done
  device::plan_group_wide(args, out, plan, shared.wide);
}

template <std::int32_t kThreads>
void launch(const PlanGroupedArgs& args, KernelPlace place) {
  // Not a stream operation, so it may be called during capture. An error shows up as the launch's.
  static_cast<void>(cudaFuncSetAttribute(plan_grouped_kernel<kThreads>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(sizeof(Shared))));
  launch_kernel(plan_grouped_kernel<kThreads>, static_cast<unsigned>(args.groups), kThreads, sizeof(Shared), place,
                args, device::token_block_bits(args.batch, args.pool));
}

/// From the number of groups and the device alone, so a graph that has it in its key has the kernel in it too.
bool are_many(std::int32_t groups) {
  int device = 0, multiprocessors = 0;
  return cudaGetDevice(&device) != cudaSuccess ||
         cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
         groups > multiprocessors;
}

void launch_at(const PlanGroupedArgs& args, KernelPlace place) {
  assert_microblocks(args.pool);
  assert(args.batch.bucket > 0 && args.groups == (args.batch.bucket + kGroupRows - 1) / kGroupRows);
  are_many(args.groups) ? launch<device::kManyThreads>(args, place) : launch<device::kSoonThreads>(args, place);
}

}  // namespace

void plan_grouped_launch(const PlanGroupedArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void plan_grouped_launch_early(const PlanGroupedArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
