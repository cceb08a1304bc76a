// The way of a warp that brings through the index lists of its block's shares: which
// of its entries are attended and where their records lie, a few tiles ahead. Nothing
// past a row's length is looked at, no index outside the pool is used.
#pragma once

#include <cstdint>

#include "kernels/device/mla_gather.cuh"
#include "kernels/sparse_mla.hpp"

namespace refrain::device {

/// The shares of one block: the first is its own number, each next one a grid further.
struct MlaShares {
  std::int32_t count, splits, split_entries;

  template <class Shape>
  [[nodiscard]] __device__ MlaWork share(const SparseMlaArgs& args, std::int32_t at) const {
    return share_of(args, at, Shape::kHeads, splits, split_entries);
  }
};

/// The share's first row of the query, of 64.
[[nodiscard]] __device__ inline std::int64_t query_row(const SparseMlaArgs& args, const MlaWork& work) {
  return std::int64_t{work.row} * args.heads + work.head;
}

/// Lane by lane: entries of 32 / kWarpEntries tiles of the share that is at.
template <class Shape>
class MlaList {
  static constexpr int kEach = Shape::kWarpEntries, kHeld = 32 / kEach;  ///< entries of a tile; tiles held

 public:
  __device__ MlaList(const SparseMlaArgs& args, const MlaShares& shares, int warp)
      : args_(args), shares_(shares), first_(warp * kEach), lane_(static_cast<int>(threadIdx.x) % 32) {
    at_ = static_cast<std::int32_t>(blockIdx.x) - static_cast<std::int32_t>(gridDim.x);
    next_share();
    if (is_tile()) resolve();
  }

  /// False behind the last tile of the last share.
  [[nodiscard]] __device__ bool is_tile() const { return at_ < shares_.count; }
  [[nodiscard]] __device__ bool begins_share() const { return tile_ == 0; }
  [[nodiscard]] __device__ std::int64_t query_row() const { return query_row_; }

  /// Byte in the pool of the record of the warp's entry `entry` of this tile; -1: zeros.
  [[nodiscard]] __device__ std::int64_t record(int entry) const {
    return __shfl_sync(~0u, record_, tile_ % kHeld * kEach + entry);
  }
  [[nodiscard]] __device__ std::int64_t footer(int entry) const {
    return __shfl_sync(~0u, footer_, tile_ % kHeld * kEach + entry);
  }
  /// A bit for each of the warp's entries of this tile.
  [[nodiscard]] __device__ std::uint32_t attended() const {
    return attended_ >> tile_ % kHeld * kEach & ((1u << kEach) - 1);
  }

  __device__ void next() {
    if (++tile_ >= tiles_) next_share();
    if (is_tile() && tile_ % kHeld == 0) resolve();
  }

 private:
  /// The next share that has tiles.
  __device__ void next_share() {
    do {
      at_ += static_cast<std::int32_t>(gridDim.x);
      if (at_ >= shares_.count) return;
      MlaWork work = shares_.share<Shape>(args_, at_);
      tile_ = 0;
      begin_ = work.begin;
      listed_ = work.listed;
      list_ = args_.indices + std::int64_t{work.row} * args_.topk;
      query_row_ = device::query_row(args_, work);
      index_ = index_of(0);
      read_bounds(args_, work);
      end_ = min(work.end, work.length);
      tiles_ = work.tiles();
    } while (tiles_ == 0);
  }

  /// Not yet bounded by the length, so that it needn't wait for it.
  [[nodiscard]] __device__ std::int32_t index_of(std::int32_t tile) const {
    const std::int32_t at = place_of(tile);
    return at < listed_ ? list_[at] : -1;
  }
  [[nodiscard]] __device__ std::int32_t place_of(std::int32_t tile) const {
    return begin_ + (tile + lane_ / kEach) * Shape::kEntries + first_ + lane_ % kEach;
  }

  /// From the indices that were asked for; asks for those that come after.
  __device__ void resolve() {
    const MlaPoolView& pool = args_.pool;
    const bool attended = place_of(tile_) < end_ && index_ >= 0 && index_ < pool.slots();
    const MlaSlot<Shape::kRecordBytes> slot(pool, static_cast<std::uint32_t>(attended ? index_ : 0));
    record_ = attended || args_.faults.clamp_to_slot0 ? slot.record() : -1;
    if constexpr (Shape::kFooter) footer_ = slot.footer();
    attended_ = __ballot_sync(~0u, attended);
    index_ = index_of(tile_ + kHeld);
  }

  const SparseMlaArgs& args_;
  const MlaShares& shares_;
  int first_, lane_;
  std::int32_t at_, tile_ = 0, tiles_ = 0;
  std::int32_t index_ = -1;                        ///< of the tiles behind those that are held
  std::int32_t begin_ = 0, listed_ = 0, end_ = 0;  ///< as in MlaWork; end_ bounded by the length too
  const std::int32_t* list_ = nullptr;
  std::int64_t query_row_ = 0;
  std::int64_t record_ = -1, footer_ = -1;
  std::uint32_t attended_ = 0;
};

}  // namespace refrain::device
