// The hash table that unites a group's selections, in shared memory, and the order of
// what is in it: by key (category, owner), which is unique. Keys that share their
// leading bits are counted and laid together, and within such a bucket each is compared
// with each, so that what comes out does not depend on who came first.
#pragma once

#include <cstdint>

#include "kernels/device/group_plan.cuh"

namespace refrain::device {

/// Of a block: as many as it can have where groups are few, so that each is planned soon, or half as many and two
/// blocks a multiprocessor, which plans more at a time.
inline constexpr std::int32_t kSoonThreads = 1024, kManyThreads = 512;
inline constexpr std::int32_t kTableSlots = 8192;
inline constexpr std::int32_t kOrdered = kGroupedWidth;
inline constexpr int kMaxTokenBits = 26;  ///< 3 of category, 3 of query and these make a 32-bit key
/// Leading bits of a key that are counted. A bucket of a context of 8,192 tokens has 32 keys, of 131,072 tokens 512,
/// which one query's selection fills at most.
inline constexpr int kBucketBits = 12, kBuckets = 1 << kBucketBits;
static_assert(kOrdered >= kGroupRows * (kSelectedBlocks + 1) && kOrdered <= UINT16_MAX);
/// Of a slot without an entry, as the table is cleared. A key of all ones would be query 7 in the category of all M
/// tiles, which the least query of a mask can't be.
inline constexpr std::uint32_t kNoKey = UINT32_MAX;

struct GroupTable {
  std::int32_t ids[kTableSlots];
  std::uint32_t masks[kTableSlots];
  std::uint32_t owners[kTableSlots];            ///< of the union, by slot; then the keys, by bucket as `slots`
  alignas(16) std::uint16_t buckets[kBuckets];  ///< entries of each, then of all before it
  std::uint16_t slots[kOrdered];  ///< of the entries as they came; then by bucket, within one as they came
  std::int32_t entries;           ///< `slots` has those of the first kOrdered
  std::uint32_t least_key;
};

/// By the warps behind the first one, which has other things to do.
template <std::int32_t kPlanThreads>
__device__ void clear(GroupTable& table) {
  constexpr std::int32_t kThreads = kPlanThreads - 32;
  const auto thread = static_cast<std::int32_t>(threadIdx.x) - 32;
  for (std::int32_t i = 4 * thread; i < kTableSlots; i += 4 * kThreads) {
    *reinterpret_cast<int4*>(table.ids + i) = {-1, -1, -1, -1};
    *reinterpret_cast<uint4*>(table.masks + i) = {0, 0, 0, 0};
    *reinterpret_cast<uint4*>(table.owners + i) = {kNoKey, kNoKey, kNoKey, kNoKey};
  }
  for (std::int32_t i = 8 * thread; i < kBuckets; i += 8 * kThreads)
    *reinterpret_cast<uint4*>(table.buckets + i) = {0, 0, 0, 0};
  if (thread == 0) table.entries = 0, table.least_key = kNoKey;
}

/// The table's entries in order, by all threads; the table is complete and has at most kOrdered.
template <std::int32_t kPlanThreads>
class GroupOrder {
 public:
  __device__ GroupOrder(GroupTable& table, int token_bits)
      : table_(table),
        all_(table.entries),
        category_shift_(token_bits + 3),
        bucket_shift_(max(0, token_bits + 6 - kBucketBits)) {
#pragma unroll
    for (std::int32_t i = 0; i < kOwn; ++i) {
      if (place_of(i) >= all_) break;
      const std::uint32_t slot = table.slots[place_of(i)];
      const std::uint32_t owner = table.owners[slot], token_block = owner & ((1u << 29) - 1u);
      slots_[i] = static_cast<std::uint16_t>(slot);
      keys_[i] = (category_of_mask(table.masks[slot]) << 3 | owner >> 29) << token_bits | token_block;
    }
  }

  /// Lays the keys together by bucket and finds the columns of the categories and what stands in column 0.
  __device__ void count(GroupPlan& plan) {
    auto* pairs = reinterpret_cast<std::uint32_t*>(table_.buckets);
    std::uint32_t least = kNoKey;
    std::uint16_t came[kOwn];  // entries of the bucket that were counted before
#pragma unroll
    for (std::int32_t i = 0; i < kOwn; ++i) {
      if (place_of(i) >= all_) break;
      least = min(least, keys_[i]);
      // No half ever carries into the other one: it counts no more than there are entries.
      const std::uint32_t bucket = keys_[i] >> bucket_shift_, half = 16 * (bucket & 1u);
      came[i] = static_cast<std::uint16_t>(atomicAdd(pairs + bucket / 2, 1u << half) >> half);
    }
    // Its entry is column 0's. Found here, it is known to all behind the barriers that the order needs anyway.
    least = __reduce_min_sync(~0u, least);
    if (threadIdx.x % 32 == 0) atomicMin(&table_.least_key, least);
    __syncthreads();  // counted, and nobody reads an owner or the list any more
    scan();
    if (const auto lane = static_cast<std::int32_t>(threadIdx.x); lane < 32)
      plan.lay_out(lane, lane < kCategories ? before(lane + 1) - before(lane) : 0);
    least = table_.least_key;
#pragma unroll
    for (std::int32_t i = 0; i < kOwn; ++i) {
      if (place_of(i) >= all_) break;
      const std::int32_t place = table_.buckets[keys_[i] >> bucket_shift_] + came[i];
      table_.slots[place] = slots_[i];
      table_.owners[place] = keys_[i];
      if (keys_[i] == least) plan.first = table_.ids[slots_[i]];
    }
    __syncthreads();
  }

  /// Goes by the order of buckets, so that a warp's threads compare with the same few keys and write together.
  __device__ void put(const GroupPlan& plan, const GroupOut& out) const {
#pragma unroll 1
    for (std::int32_t place = static_cast<std::int32_t>(threadIdx.x); place < all_; place += kPlanThreads) {
      const std::int32_t slot = table_.slots[place];
      const std::uint32_t key = table_.owners[place];
      const std::uint32_t bucket = key >> bucket_shift_, category = key >> category_shift_;
      const std::int32_t begin = table_.buckets[bucket],
                         end = bucket + 1 < kBuckets ? table_.buckets[bucket + 1] : all_;
      std::int32_t rank = begin;
      for (std::int32_t at = begin; at < end; ++at) rank += table_.owners[at] < key ? 1 : 0;
      const std::int32_t column = plan.column_before[category] + rank - plan.entries_before[category];
      out.put(column, table_.ids[slot], table_.masks[slot]);
    }
  }

 private:
  static constexpr std::int32_t kOwn = (kOrdered + kPlanThreads - 1) / kPlanThreads;  ///< entries of a thread
  static constexpr std::int32_t kWords = kBuckets / kPlanThreads / 2, kPlanWarps = kPlanThreads / 32;

  [[nodiscard]] __device__ static std::int32_t place_of(std::int32_t i) {
    return i * kPlanThreads + static_cast<std::int32_t>(threadIdx.x);
  }

  /// Entries of the categories before `category`: keys begin with it, so it begins with a bucket.
  [[nodiscard]] __device__ std::int32_t before(std::int32_t category) const {
    const std::int32_t bucket = category << (category_shift_ - bucket_shift_);
    return category < kCategories && bucket < kBuckets ? table_.buckets[bucket] : all_;
  }

  /// Counts to how many come before, in place.
  __device__ void scan() {
    __shared__ std::int32_t of_warps[kPlanWarps];
    const auto thread = static_cast<std::int32_t>(threadIdx.x), lane = thread % 32;
    auto* own = reinterpret_cast<std::uint32_t*>(table_.buckets) + kWords * thread;
    std::uint32_t words[kWords];
#pragma unroll
    for (std::int32_t i = 0; i < kWords; ++i) words[i] = own[i];
    std::int32_t mine = 0;
#pragma unroll
    for (const std::uint32_t word : words) mine += static_cast<std::int32_t>((word & 0xFFFFu) + (word >> 16));
    std::int32_t upto = mine;
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const std::int32_t other = __shfl_up_sync(~0u, upto, step);
      if (lane >= step) upto += other;
    }
    if (lane == 31) of_warps[thread / 32] = upto;
    __syncthreads();
    const std::int32_t ahead = lane < thread / 32 ? of_warps[lane] : 0;
    std::int32_t running = upto - mine + __reduce_add_sync(~0u, ahead);
#pragma unroll
    for (std::uint32_t& word : words) {
      const auto low = static_cast<std::uint32_t>(running), high = low + (word & 0xFFFFu);
      running = static_cast<std::int32_t>(high + (word >> 16));
      word = low | high << 16;
    }
#pragma unroll
    for (std::int32_t i = 0; i < kWords; ++i) own[i] = words[i];
    __syncthreads();
  }

  GroupTable& table_;
  std::int32_t all_;
  int category_shift_, bucket_shift_;
  std::uint32_t keys_[kOwn];  ///< of the entries that this thread took from the list, and where they stand
  std::uint16_t slots_[kOwn];
};

}  // namespace refrain::device
