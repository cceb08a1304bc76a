// Three kernels. Dense: a thread a slot, and one extra block for the most splits
// of any. Sparse: a block a slot sorts its complete blocks by logical token (the
// tail is behind them by definition and takes no part); the most splits are
// taken by a kernel of its own, for a maximum over blocks needs either that or an
// atomic on a value that somebody has zeroed.
#include <cassert>
#include <cstdint>

#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>

#include "kernels/device/early_start.cuh"
#include "kernels/device/selection.cuh"
#include "kernels/launchers.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kSortThreads = 128, kItems = kSelectedBlocks / kSortThreads;
constexpr std::int32_t kThreads = 256;

/// The row that a slot serves, whether it is real or not.
__device__ std::int32_t row_of_slot(const PlanXqaArgs& args, std::int32_t slot) {
  const std::int32_t rows = device::real_rows(args.batch);
  return (args.group_rows != 0 ? rows - rows % args.group_rows : 0) + slot;
}

__device__ bool is_real(const PlanXqaArgs& args, std::int32_t row) {
  return row < device::real_rows(args.batch);
}

/// All blocks of the grid together.
__device__ void zero_counters(const PlanXqaArgs& args, std::int64_t blocks) {
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < args.counters_zeroed;
       i += blocks * blockDim.x)
    args.counters[i] = 0;
}

__device__ void put_slot(const PlanXqaArgs& args, std::int32_t slot, std::int32_t row, std::int32_t length) {
  args.slot_rows[slot] = args.group_rows != 0 && !is_real(args, row) ? -1 : row;
  args.lengths[slot] = length;
}

/// `length_of(slot)` over all slots; one block of kThreads.
template <class LengthOf>
__device__ void put_active_partitions(const PlanXqaArgs& args, LengthOf length_of) {
  using Reduce = cub::BlockReduce<std::int32_t, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  const SplitRule rule{args.partitions, args.partition_tokens};
  std::int32_t most = 0;  // not of the longest: a longer row may have fewer splits
  for (std::int32_t slot = static_cast<std::int32_t>(threadIdx.x); slot < args.slots; slot += kThreads)
    most = max(most, rule.splits(length_of(slot)));
  most = Reduce(storage).Reduce(most, [](std::int32_t a, std::int32_t b) { return max(a, b); });
  if (threadIdx.x == 0) *args.active_partitions = most;
}

/// The tables are read before it is known that the row is real: what a pad row's say is dropped.
__device__ std::int32_t dense_length(const PlanXqaArgs& args, std::int32_t row) {
  const auto visible = static_cast<std::int32_t>(device::visible_tokens(args.batch, min(row, args.batch.bucket - 1)));
  return is_real(args, row) ? visible : 0;
}

/// `slot_blocks` blocks for the slots; a block behind them for active_partitions.
__global__ void __launch_bounds__(kThreads) plan_xqa_dense_kernel(const PlanXqaArgs args, std::int32_t slot_blocks) {
  device::wait_for_previous();
  if (static_cast<std::int32_t>(blockIdx.x) == slot_blocks)
    return put_active_partitions(args, [&](std::int32_t slot) { return dense_length(args, row_of_slot(args, slot)); });
  zero_counters(args, slot_blocks);
  const auto slot = static_cast<std::int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (slot >= args.slots) return;
  const std::int32_t row = row_of_slot(args, slot);
  put_slot(args, slot, row, dense_length(args, row));
}

__global__ void __launch_bounds__(kThreads) plan_xqa_splits_kernel(const PlanXqaArgs args) {
  device::wait_for_previous();
  put_active_partitions(args, [&](std::int32_t slot) { return args.lengths[slot]; });
}

/// The microblock of complete block `block`, or kNone where it counts for nothing; `order` is its place.
__device__ std::int64_t complete_block(const PlanXqaArgs& args, const device::RowSelection& s, std::int32_t block,
                                       std::uint32_t& order) {
  if (block >= s.complete) return device::kNone;
  const std::int32_t* at = s.blocks + 4 * block;
  const std::int32_t entries[4] = {at[0], at[1], at[2], at[3]};
  if (!device::is_aligned_block(entries) || entries[3] >= s.seq_len) return device::kNone;
  order = static_cast<std::uint32_t>(entries[0] / 4);
  return device::microblock_of(args.batch, args.pool, s, entries[0]);
}

/// Writes one slot's keys with all threads of the block; returns the tokens that they hold.
__device__ std::int32_t put_keys(const PlanXqaArgs& args, std::int32_t slot, std::int32_t row, int token_bits) {
  using Sort = cub::BlockRadixSort<std::uint32_t, kSortThreads, kItems, std::int32_t>;
  __shared__ typename Sort::TempStorage storage;
  const device::RowSelection s =
      is_real(args, row) ? device::row_selection(args.batch, args.selected, row) : device::RowSelection{};
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  std::uint32_t order[kItems];
  std::int32_t microblock[kItems], valid = 0;
#pragma unroll
  for (std::int32_t i = 0; i < kItems; ++i) {
    // Which thread holds which block does not matter: equal orders name the same microblock.
    const std::int64_t id = complete_block(args, s, i * kSortThreads + thread, order[i]);
    if (id == device::kNone) order[i] = 1u << token_bits;
    microblock[i] = static_cast<std::int32_t>(id);
  }
  for (const std::int32_t id : microblock) valid += __syncthreads_count(id != device::kNone);  // after all loads
  Sort(storage).SortBlockedToStriped(order, microblock, 0, token_bits + 1);
  std::int64_t* keys = args.keys + std::int64_t{slot} * kXqaSlots;
#pragma unroll
  for (std::int32_t i = 0; i < kItems; ++i) {
    const std::int32_t at = i * kSortThreads + thread;
    if (at < valid) keys[at] = std::int64_t{order[i]} * kMicroblockTokens << 31 | microblock[i];
  }
  const std::int64_t tail = s.tail > 0 ? device::microblock_of(args.batch, args.pool, s, s.tail_first) : device::kNone;
  const bool has_tail = tail != device::kNone;
  for (std::int32_t at = valid + thread; at < kXqaSlots; at += kSortThreads)
    keys[at] = at == valid && has_tail ? kTailKey | std::int64_t{s.tail_first} << 31 | tail : kInvalidKey;
  return kMicroblockTokens * valid + (has_tail ? s.tail : 0);
}

/// `token_bits` as token_block_bits gives them: so few bits are sorted.
__global__ void __launch_bounds__(kSortThreads) plan_xqa_kernel(const PlanXqaArgs args, int token_bits) {
  device::wait_for_previous();
  zero_counters(args, gridDim.x);
  const auto slot = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t row = row_of_slot(args, slot);
  const std::int32_t length = put_keys(args, slot, row, token_bits);
  if (threadIdx.x == 0) put_slot(args, slot, row, length);
}

void assert_shape([[maybe_unused]] const PlanXqaArgs& args) {
  assert(args.group_rows == 0 || args.group_rows == kGroupRows);
  assert(args.slots > 0 && args.slots <= args.batch.bucket);
  assert(args.group_rows != 0 || args.slots == args.batch.bucket);
  assert(args.heads > 0 && args.partitions > 0 && args.partition_tokens > 0);
  assert((args.selected == nullptr) == (args.keys == nullptr));
  assert(args.counter_sets > 0);
  assert(args.counters_zeroed >= 0 &&
         args.counters_zeroed <= std::int64_t{args.counter_sets} * args.slots * args.heads);
}

/// The second kernel starts as the first does: both wait.
void launch_at(const PlanXqaArgs& args, KernelPlace place) {
  assert_pool_shape(args.pool);
  assert_shape(args);
  const bool wants_splits = args.active_partitions != nullptr;
  if (args.keys == nullptr) {
    const std::int32_t slot_blocks = (args.slots + kThreads - 1) / kThreads;
    const auto grid = static_cast<unsigned>(slot_blocks + (wants_splits ? 1 : 0));
    launch_kernel(plan_xqa_dense_kernel, grid, kThreads, 0, place, args, slot_blocks);
    return;
  }
  assert_microblocks(args.pool);
  const int token_bits = device::token_block_bits(args.batch, args.pool);
  launch_kernel(plan_xqa_kernel, static_cast<unsigned>(args.slots), kSortThreads, 0, place, args, token_bits);
  if (wants_splits) launch_kernel(plan_xqa_splits_kernel, 1, kThreads, 0, place, args);
}

}  // namespace

void plan_xqa_launch(const PlanXqaArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void plan_xqa_launch_early(const PlanXqaArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
