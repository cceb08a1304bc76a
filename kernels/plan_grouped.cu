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
#include "kernels/device/vector.cuh"
#include "kernels/device_code.hpp"
#include "kernels/launchers.hpp"
#include "kernels/page_division.hpp"
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
  std::int32_t probe = 0, found = -1;
#pragma unroll 1  // the code is fetched once a launch, and seldom is there a second turn
  for (; probe < kMaxProbes; ++probe, at = (at + 1) % device::kTableSlots) {
    found = atomicCAS(&table.ids[at], -1, id);
    if (found == -1 || found == id) break;
  }
  if (probe == kMaxProbes) return false;
  // Behind the loop, so that the lanes of a warp do it together, whoever's place took longer to find.
  if (found == -1) {
    const std::int32_t came = atomicAdd(&table.entries, 1);
    if (came < device::kOrdered) table.slots[came] = static_cast<std::uint16_t>(at);
  }
  atomicOr(&table.masks[at], tokens << (4 * query));
  atomicMin(&table.owners[at], device::owner_of(query, token));
  return true;
}

/// A block that is not one whole microblock, entry by entry. Rare, so it takes no room among what is not.
__noinline__ __device__ bool insert_broken(const PlanGroupedArgs& args, const RowSelection& s, GroupTable& table,
                                           std::int32_t query, std::int32_t block) {
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
    for (std::int32_t q = 0; q < kQueries; ++q) take(from + q * kSelectedWidth, entries[q]);
  }

 private:
  /// Rows are no multiple of 16 bytes: two accesses of 16 bytes, of which a warp's lie side by side, and not four words
  /// each 16 bytes from its neighbour's. The second ends within the row, and the first begins before it only where
  /// another row is (`selected` is aligned).
  __device__ void take(const std::int32_t* row, std::int32_t (&four)[4]) const {
    const auto past =
        static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / 4 % 4);  // words; the same in all threads
    const int4* quads = reinterpret_cast<const int4*>(row - past) + at;
    const int4 low = quads[0], high = past == 0 ? low : quads[1];
    const std::int32_t words[7] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z};
    std::int32_t odd[6];
#pragma unroll
    for (int i = 0; i < 6; ++i) odd[i] = past % 2 == 0 ? words[i] : words[i + 1];
#pragma unroll
    for (int i = 0; i < 4; ++i) four[i] = past < 2 ? odd[i] : odd[i + 2];
  }
};

/// What the page table says about a token's microblock, asked for before it is looked at.
struct Lookup {
  std::int32_t page = 0, block = 0;  ///< the table's entry; the microblock within the page

  Lookup() = default;
  /// `wanted` is no branch: behind one the compiler would wait for each entry before it asks for the next.
  __device__ Lookup(const PlanGroupedArgs& args, const PageDivision& page_of_token, std::int32_t request,
                    std::int32_t token, bool wanted) {
    const std::int32_t index = page_of_token(token);
    page = wanted ? device::page_entry(args.batch, request, index) : 0;
    block = (token - index * args.pool.page_size) / kMicroblockTokens;
  }
  [[nodiscard]] __device__ bool is_page(const KvPoolView& pool) const { return page >= 1 && page < pool.pages; }
  [[nodiscard]] __device__ std::int32_t microblock(const KvPoolView& pool) const {
    return page * static_cast<std::int32_t>(pool.page_stride4()) + block;
  }
};

/// Adds the blocks, after one look at all page tables; false where there was no room.
__device__ bool insert_all(const PlanGroupedArgs& args, const PageDivision& page_of_token, const GroupPlan& plan,
                           GroupTable& table, const Blocks& blocks) {
  Lookup lookups[kQueries];
  bool broken[kQueries];  // not one whole microblock: entry by entry
#pragma unroll
  for (std::int32_t q = 0; q < kQueries; ++q) {
    const RowSelection& s = plan.rows[blocks.first + q];
    const bool counts = blocks.at < s.complete;
    const bool whole = device::is_aligned_block(blocks.entries[q]) && blocks.entries[q][3] < s.seq_len;
    lookups[q] = Lookup(args, page_of_token, s.request, blocks.entries[q][0], counts && whole);
    broken[q] = counts && !whole;
  }
  bool room = true;
#pragma unroll
  for (std::int32_t q = 0; q < kQueries; ++q) {
    const std::int32_t query = blocks.first + q;
    if (lookups[q].is_page(args.pool))
      room = insert(table, lookups[q].microblock(args.pool), query, blocks.entries[q][0], 0xFu) && room;
    else if (broken[q])
      room = insert_broken(args, plan.rows[query], table, query, blocks.at) && room;
  }
  return room;
}

/// A row's tail, asked for while blocks are added.
struct Tail {
  std::int32_t named = -1;  ///< the selection's entry behind the complete blocks
  Lookup lookup;

  Tail() = default;
  __device__ Tail(const PlanGroupedArgs& args, const PageDivision& page_of_token, const RowSelection& s) {
    if (s.tail == 0) return;
    named = s.blocks[4 * s.complete];
    lookup = Lookup(args, page_of_token, s.request, s.tail_first, true);
  }
  /// Accepts it or drops it from the selection; false where there was no room.
  __device__ bool insert_into(GroupTable& table, const KvPoolView& pool, RowSelection& s, std::int32_t query) const {
    s.accept_tail(named);
    return s.tail == 0 || !lookup.is_page(pool) ||
           insert(table, lookup.microblock(pool), query, s.tail_first, (1u << s.tail) - 1u);
  }
};

/// The whole union, by all threads; the same answer in every thread. The table is clear, `blocks` are those of turn 0.
template <std::int32_t kThreads>
__device__ bool unite(const PlanGroupedArgs& args, const PageDivision& page_of_token, GroupPlan& plan,
                      GroupTable& table, std::int32_t group, const Blocks& blocks) {
  constexpr std::int32_t kTurns = kGroupRows * kSelectedBlocks / (kQueries * kThreads);
  static_assert(kThreads % kSelectedBlocks == 0 && kTurns * kQueries * kThreads == kGroupRows * kSelectedBlocks);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  Tail tail;
  if (thread < kGroupRows) tail = Tail(args, page_of_token, plan.rows[thread]);
  bool room = insert_all(args, page_of_token, plan, table, blocks);
#pragma unroll
  for (std::int32_t turn = 1; turn < kTurns; ++turn)
    room = insert_all(args, page_of_token, plan, table, Blocks(args, group, turn)) && room;
  if (thread < kGroupRows) room = tail.insert_into(table, args.pool, plan.rows[thread], thread) && room;
  return __syncthreads_and(room);
}

/// The plan's rows, by one warp. The lengths of the first requests are asked for with the rows' requests: else they
/// were another trip to memory.
__device__ void begin_rows(const PlanGroupedArgs& args, GroupPlan& plan, std::int32_t group, std::int32_t lane) {
  const BatchView& batch = args.batch;
  const std::int32_t row = group * kGroupRows + lane % kGroupRows, request = batch.token_to_req[row];
  const std::int64_t position = batch.query_pos[row];
  std::int32_t length = __shfl_sync(~0u, lane < batch.requests ? batch.seq_len[lane] : 0, request);
  if (!device::is_request(batch, request))
    length = 0;
  else if (request >= 32)
    length = batch.seq_len[request];
  const RowSelection selection = device::row_blocks(args.selected, row, request, position, length);
  if (lane < kGroupRows) plan.rows[lane] = selection;
  if (lane == 0) plan.first = 0;
}

/// A group that is not planned, by all threads.
__device__ void leave_out(const GroupOut& out) {
  out.put_unused(0, 0);
  if (threadIdx.x == 0) *out.tokens = 0;
}

template <std::int32_t kThreads>
__global__ void __launch_bounds__(kThreads, kThreads == device::kManyThreads ? 2 : 1)
    plan_grouped_kernel(const __grid_constant__ PlanGroupedArgs args, const PageDivision page_of_token,
                        int token_bits) {
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
  else
    begin_rows(args, plan, group, thread);
  __syncthreads();
  if (end > rows) return leave_out(out);
  if (token_bits <= device::kMaxTokenBits && unite<kThreads>(args, page_of_token, plan, shared.table, group, blocks) &&
      shared.table.entries <= device::kOrdered) {
    device::GroupOrder<kThreads> order(shared.table, token_bits);
    order.count(plan);
    order.put(plan, out);
    return out.put_rest(plan);
  }
  if (thread < kGroupRows) plan.rows[thread].accept_tail();  // if it did not come that far
  __syncthreads();                                           // the table's last readers are done
  device::plan_group_wide(args, out, plan, shared.wide);
}

template <std::int32_t kThreads>
void launch(const PlanGroupedArgs& args, KernelPlace place) {
  // Not a stream operation, so it may be called during capture. An error shows up as the launch's.
  static_cast<void>(cudaFuncSetAttribute(plan_grouped_kernel<kThreads>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(sizeof(Shared))));
  launch_kernel(plan_grouped_kernel<kThreads>, static_cast<unsigned>(args.groups), kThreads, sizeof(Shared), place,
                args, PageDivision(args.pool.page_size), device::token_block_bits(args.batch, args.pool));
}

/// From the number of groups and the device alone, so a graph that has it in its key has the kernel in it too.
bool are_many(std::int32_t groups) {
  return groups > multiprocessors();
}

void launch_at(const PlanGroupedArgs& args, KernelPlace place) {
  assert_microblocks(args.pool);
  assert(device::aligned16(args.selected));
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
