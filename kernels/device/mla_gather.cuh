// From index lists to records in shared memory. An entry is resolved once, well
// ahead: attended or not, and where its record lies; then 16-byte copies bring the
// record into a ring of 16-entry subtiles, and zeros where nothing is attended.
// Nothing past the row's length is looked at, no index outside the pool is used.
#pragma once

#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "kernels/device/mla_shape.cuh"
#include "kernels/sparse_mla.hpp"

namespace refrain::device {

/// A block's share: entries [begin, end) of a row's list, for heads from `head`.
struct MlaWork {
  std::int32_t row = 0, split = 0, head = 0;
  std::int32_t begin = 0;
  std::int32_t listed = 0;  ///< the list's end, or the split's: what may be looked at
  std::int32_t end = 0;     ///< of what is walked; `listed` at most
  std::int32_t length = 0;  ///< entries at or past it are garbage
  bool real = true;

  [[nodiscard]] __device__ std::int32_t tiles() const { return end <= begin ? 0 : (end - begin + 63) / 64; }
};

/// Faults that take the whole list in.
[[nodiscard]] __device__ inline bool walks_whole_list(const SparseMlaFaults& faults) {
  return faults.clamp_to_slot0 || faults.neg_inf_max || faults.mask_before_scale;
}

/// Which share `block` is, before anything is read.
[[nodiscard]] __device__ inline MlaWork share_of(const SparseMlaArgs& args, std::int64_t block,
                                                 std::int32_t heads_a_block, std::int32_t splits,
                                                 std::int32_t split_entries) {
  const std::int32_t groups = args.heads / heads_a_block;
  MlaWork work;
  work.head = static_cast<std::int32_t>(block % groups) * heads_a_block;
  block /= groups;
  work.split = static_cast<std::int32_t>(block % splits);
  work.row = static_cast<std::int32_t>(block / splits);
  const std::int64_t begin = std::int64_t{work.split} * split_entries;
  work.begin = static_cast<std::int32_t>(min(begin, std::int64_t{args.topk}));
  work.listed = static_cast<std::int32_t>(min(begin + split_entries, std::int64_t{args.topk}));
  return work;
}

/// Reads whether the row is real and how long its list is.
__device__ inline void read_bounds(const SparseMlaArgs& args, MlaWork& work) {
  const std::int32_t real_rows = args.real_rows == nullptr ? args.rows : *args.real_rows;
  const std::int32_t length = args.lengths == nullptr ? args.topk : args.lengths[work.row];
  work.real = work.row < real_rows;
  work.length = args.faults.past_length ? args.topk : max(0, min(length, args.topk));
  const std::int32_t bound = !work.real ? 0 : walks_whole_list(args.faults) ? args.topk : work.length;
  work.end = min(work.listed, bound);
}

/// Where a slot lies in the pool, found by one division of 32 bits; kRecordBytes are the format's.
template <int kRecordBytes>
struct MlaSlot {
  std::int64_t page_at;
  std::uint32_t page_size, token;

  __device__ MlaSlot(const MlaPoolView& pool, std::uint32_t slot)
      : page_size(static_cast<std::uint32_t>(pool.page_size)) {
    const std::uint32_t page = slot / page_size;
    token = slot - page * page_size;
    page_at = page * pool.page_bytes();
  }
  [[nodiscard]] __device__ std::int64_t record() const { return page_at + token * std::int64_t{kRecordBytes}; }
  [[nodiscard]] __device__ std::int64_t footer() const {
    return page_at + std::int64_t{page_size} * kRecordBytes + token * kMlaFooterBytes;
  }
};

/// cp.async of 16 bytes, or zeros: what is read is what is asked for, for a record's neighbours are not wanted.
__device__ inline void gather16(std::uint32_t to, const std::byte* from, bool wanted) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(wanted ? 16 : 0) : "memory");
}

__device__ inline void gather8(std::uint32_t to, const std::byte* from, bool wanted) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(wanted ? 8 : 0) : "memory");
}

/// Copies and, with them, the ring are shared out by entry: entry e's are those of threads 8 e to 8 e + 7. So each
/// thread counts its own groups and tiles. bf16 records are whole lines of 128 bytes, a piece of each a thread, and the
/// swizzle leaves steps of 128 bytes alone. The others begin anywhere: there the eight take what lies in one line at a
/// time.
template <class Shape>
class MlaGather {
 public:
  using Tables = typename Shape::Tables;

  __device__ MlaGather(const SparseMlaArgs& args, const MlaWork& work, Tables& tables, std::uint32_t ring)
      : args_(args),
        work_(work),
        tables_(tables),
        list_(args.indices + std::int64_t{work.row} * args.topk),
        slot_(static_cast<std::int32_t>(threadIdx.x / kSubThreads)),
        source_(args.pool.data + threadIdx.x % 8 * 16),
        misplaced_(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(args.pool.data) / 16 % 8)) {
    const std::uint32_t row = threadIdx.x / 8 % Shape::kSubEntries, column = threadIdx.x % 8;
    ring_ = ring + (Shape::kDecoded ? row * Shape::kRingRowBytes + column * 16 : Shape::place(row, column));
    footer_ = ring + Shape::kSubEntries * Shape::kRingRowBytes + row * static_cast<std::uint32_t>(kMlaFooterBytes);
  }

  /// The index that this thread resolves for tile `tile`; -1 past the list's end. Not yet bounded by the length, so
  /// that it needn't wait for it.
  [[nodiscard]] __device__ std::int32_t index_of(std::int32_t tile, std::int32_t entry) const {
    const std::int32_t at = work_.begin + tile * Shape::kEntries + entry;
    return at < work_.listed ? list_[at] : -1;
  }

  /// By whole warps, 32 consecutive entries each.
  __device__ void resolve(std::int32_t tile, std::int32_t entry, std::int32_t index) const {
    const MlaPoolView& pool = args_.pool;
    const std::int32_t at = work_.begin + tile * Shape::kEntries + entry;
    const bool attended = at < work_.end && at < work_.length && index >= 0 && index < pool.slots();
    const bool read = attended || args_.faults.clamp_to_slot0;
    const MlaSlot<Shape::kRingRowBytes> slot(pool, static_cast<std::uint32_t>(attended ? index : 0));
    const std::int32_t place = tile % Shape::kTableTiles;
    tables_.record[place][entry] = read ? slot.record() : -1;
    if constexpr (Shape::kFooter) tables_.footer[place][entry] = slot.footer();
    const std::uint32_t bits = __ballot_sync(~0u, attended);
    if (entry % 32 == 0) tables_.attended[place][entry / 32] = bits;
  }

  /// Fills the ring.
  __device__ void load_first() {
#pragma unroll
    for (int i = 0; i < kDeep; ++i) load_next();
    if (has_more()) load_next();
  }

  /// Starts this thread's copies of its next tile, a group of its own; an empty group where there is none.
  __device__ void load_next() {
    if (next_ < work_.tiles()) {
      const std::int32_t place = next_ % Shape::kTableTiles;
      const std::uint32_t entry = threadIdx.x / 8;
      const std::int64_t at = tables_.record[place][entry];
      const bool read = at >= 0;
      const std::byte* from = source_ + (read ? at : 0);
      const std::uint32_t sub = static_cast<std::uint32_t>(slot_) * Shape::kSubBytes, to = ring_ + sub;
      if constexpr (!Shape::kDecoded) {
#pragma unroll
        for (int i = 0; i < Shape::kRingPieces / 8; ++i) gather16(to + 128 * i, from + 128 * i, read);
      } else {
        // Pieces from the start of the line that the record begins in.
        const auto before = static_cast<int>((misplaced_ + static_cast<std::uint32_t>((read ? at : 0) / 16)) % 8);
        const int column = static_cast<int>(threadIdx.x % 8) - before;
#pragma unroll
        for (int i = 0; i < (Shape::kRingPieces + 14) / 8; ++i)
          if (column + 8 * i >= 0 && column + 8 * i < Shape::kRingPieces)
            gather16(to + 128 * i - 16 * before, from + 128 * i - 16 * before, read);
      }
      if constexpr (Shape::kFooter)
        if (threadIdx.x % 8 == 7) gather8(footer_ + sub, args_.pool.data + tables_.footer[place][entry], read);
      slot_ += Shape::kSubs;
      if (slot_ >= Shape::kRingSubs) slot_ -= Shape::kRingSubs;
    }
    ++next_;
    commit_copies();
  }

  /// Until what this thread copied before load_first() has landed.
  __device__ void wait_before_first() const {
    if (has_more())
      wait_for_copies<kDeep + 1>();
    else
      wait_for_copies<kDeep>();
  }

  /// Until this thread's copies of the next tile to be used have landed; others' are known behind a barrier.
  __device__ void wait() const {
    if (has_more())
      wait_for_copies<kDeep>();
    else
      wait_for_copies<kDeep - 1>();
  }

 private:
  static constexpr std::uint32_t kSubThreads = 8 * Shape::kSubEntries;
  static constexpr int kDeep = Shape::kRingSubs / Shape::kSubs;  ///< whole tiles that the ring holds

  /// Does the ring hold one more subtile of this thread's place in a tile?
  [[nodiscard]] __device__ static bool has_more() {
    return static_cast<int>(threadIdx.x / kSubThreads) < Shape::kRingSubs % Shape::kSubs;
  }

  const SparseMlaArgs& args_;
  const MlaWork& work_;
  Tables& tables_;
  const std::int32_t* list_;
  std::int32_t next_ = 0, slot_;
  const std::byte* source_;
  std::uint32_t misplaced_;  ///< pieces from the start of a line to the pool's
  std::uint32_t ring_, footer_;
};

}  // namespace refrain::device
