// One warp's way through the tokens of a split: which tokens it takes, where they
// lie in the pool, and the copies that bring them. The ids of the next microblocks
// stand one a lane in a register, so no table size bounds a split; a window of ids
// is loaded a whole window ahead. Nothing outside [begin, end) is ever read: no
// table entry, no key and, by zero-filling copies, no token.
#pragma once

#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "kernels/device/xqa_shape.cuh"
#include "kernels/xqa_decode.hpp"

namespace refrain::device {

inline constexpr std::int32_t kSplitMissing = -1;

struct XqaSplit {
  std::int32_t slot = 0, partition = 0, kv_head = 0, row = 0;
  std::int32_t request = 0;         ///< of the row; read only where no keys are given
  std::int32_t splits = 0;          ///< of the row; kSplitMissing: its plan is stale or not this launch's
  std::int32_t begin = 0, end = 0;  ///< tokens of the slot
  std::int32_t settled = 0;         ///< tokens of the slot below this one nothing in this step writes
};

template <class Shape>
class XqaStream {
 public:
  __device__ XqaStream(const XqaDecodeArgs& args, const XqaSplit& split, std::uint32_t ring)
      : begin_(split.begin),
        end_(split.end),
        first_((split.begin & ~(kMicroblockTokens - 1)) + static_cast<std::int32_t>(threadIdx.x / 32) * Shape::kTokens),
        page_size_(args.pool.page_size),
        blocks_a_page_(static_cast<std::uint32_t>(args.pool.page_stride4())),
        token_bytes_(static_cast<std::uint32_t>(args.pool.kv_heads) * Shape::kRowBytes),
        plane_bytes_(std::int64_t{args.pool.page_size} * token_bytes_) {
    const std::uint32_t lane = threadIdx.x % 32, row = lane / kPieces, piece = lane % kPieces;
    source_ =
        reinterpret_cast<const char*>(args.pool.data) + std::int64_t{split.kv_head} * Shape::kRowBytes + 16 * piece;
    ring_ = ring;
    place_ = Shape::place(row, piece);
    if (args.keys != nullptr)
      keys_ = args.keys + std::int64_t{split.slot} * kXqaSlots;
    else
      pages_ = args.batch.page_table + std::int64_t{split.request} * args.batch.pages_per_request;
    ids_ = id_of_lane(first_);
    next_ids_ = id_of_lane(first_ + kWindowTokens);
  }

  /// Stages of this warp; the warps of a block take stages in turn.
  [[nodiscard]] __device__ std::int32_t stages() const {
    const std::int32_t left = end_ - first_;
    return left <= 0 ? 0 : (left + kStride - 1) / kStride;
  }
  [[nodiscard]] __device__ std::int32_t first_token(std::int32_t stage) const { return first_ + stage * kStride; }

  /// Starts the copies of the stages from `from` up to `to`, at most kStages, a group each; returns the first that is
  /// left because it does not end by token `bound`. The end of the split as bound leaves none.
  [[nodiscard]] __device__ std::int32_t fill_ring(std::int32_t from, std::int32_t to, std::int32_t bound) {
#pragma unroll 1
    for (; from < to && min(first_token(from) + Shape::kTokens, end_) <= bound; ++from) {
      if (from < stages()) load_next(from);
      commit_copies();
    }
    return from;
  }

  /// Starts the copies of the next stage into place `at` of the ring; stages come in order from 0.
  __device__ void load_next(std::int32_t at) {
    if (in_window_ == kWindowStages) {
      in_window_ = 0;
      ids_ = next_ids_;
      next_ids_ = id_of_lane(loaded_ + kWindowTokens + first_);
    }
    const std::uint32_t row = threadIdx.x % 32 / kPieces;
    const std::uint32_t stage = ring_ + static_cast<std::uint32_t>(at) * Shape::kStageBytes;
#pragma unroll
    for (int copy = 0; copy < kCopies; ++copy) {
      const std::uint32_t r = row + copy * kRowsACopy;
      const std::uint32_t id = __shfl_sync(~0u, ids_, in_window_ * kIdsAStage + r / kMicroblockTokens);
      const std::int32_t token = first_ + loaded_ + static_cast<std::int32_t>(r);
      const bool wanted = token >= begin_ && token < end_;
      const char* from =
          source_ + std::uint64_t{id} * (kMicroblockTokens * token_bytes_) + r % kMicroblockTokens * token_bytes_;
      // place() is linear over xor, and these rows have no bit in common with the lane's.
      const std::uint32_t rows = copy * kRowsACopy;
      const std::uint32_t there = stage + (place_ ^ Shape::place(rows % 8, 0)) + rows / 8 * 8 * Shape::kRowBytes;
      copy16_once_or_zero(there, from, wanted, policy_);
      copy16_once_or_zero(there + Shape::kPlaneBytes, from + plane_bytes_, wanted, policy_);
    }
    ++in_window_;
    loaded_ += kStride;
  }

 private:
  static constexpr int kPieces = Shape::kRowBytes / 16, kRowsACopy = 32 / kPieces;
  static constexpr int kCopies = Shape::kTokens / kRowsACopy;
  static constexpr int kStride = Shape::kTokens * Shape::kWarps;  ///< tokens from one stage of a warp to its next
  static constexpr int kIdsAStage = Shape::kTokens / kMicroblockTokens, kWindowStages = 32 / kIdsAStage;
  static constexpr int kWindowTokens = kWindowStages * kStride;

  /// The microblock that this lane looks up for the window that starts at `window`. Past the L1, as split_of_block.
  [[nodiscard]] __device__ std::uint32_t id_of_lane(std::int32_t window) const {
    const std::int32_t lane = static_cast<std::int32_t>(threadIdx.x % 32);
    const std::int32_t token = window + lane / kIdsAStage * kStride + lane % kIdsAStage * kMicroblockTokens;
    if (token >= end_) return 0;  // its copies are zeros; the address stays inside the pool
    if (keys_ != nullptr)
      return static_cast<std::uint32_t>(__ldcg(reinterpret_cast<const long long*>(keys_) + token / kMicroblockTokens) &
                                        kKeyMicroblockMask);
    const std::int32_t page = token / page_size_;
    const auto id = static_cast<std::uint32_t>(__ldcg(pages_ + page)) * blocks_a_page_;
    return id + static_cast<std::uint32_t>(token - page * page_size_) / kMicroblockTokens;
  }

  std::int32_t begin_, end_, first_;
  std::int32_t page_size_;
  std::uint32_t blocks_a_page_, token_bytes_;
  std::int64_t plane_bytes_;
  const char* source_ = nullptr;
  std::uint32_t ring_ = 0, place_ = 0;
  std::uint64_t policy_ = policy_once();
  const std::int64_t* keys_ = nullptr;
  const std::int32_t* pages_ = nullptr;
  std::uint32_t ids_ = 0, next_ids_ = 0;
  std::int32_t in_window_ = 0, loaded_ = 0;  ///< stages taken from the window; tokens from first_ to the next stage
};

}  // namespace refrain::device
