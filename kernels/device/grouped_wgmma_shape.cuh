// The geometry of grouped_attention on warpgroups: two that attend, each to every
// second tile of the block with softmax and sums of its own, and one that brings the
// tiles to them through a ring of stages, or two where they are decoded on the way.
// A warpgroup multiplies 64 rows at a time: warp w has the 16-row M tile w, and the
// fourth warp's rows are nobody's. Shared memory is laid out here and nowhere else.
#pragma once

#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "kernels/device/grouped_formats.cuh"
#include "kernels/device/grouped_shape.cuh"
#include "kernels/device/mbarrier.cuh"
#include "kernels/device/wgmma.cuh"

namespace refrain::grouped {

inline constexpr int kAttenders = 2, kGroupThreads = 128, kGroupWarps = 4;  ///< of a warpgroup
inline constexpr int kMaskTiles = 8;                                        ///< tiles whose masks are kept
inline constexpr int kQueryBytes = kRows * kDim * 2, kWidePlaneBytes = kTokens * kDim * 2;

/// The cache's codec is Format's; in the stages lies what it decodes to, in the panels of wgmma.cuh.
template <class Format>
struct WgmmaLayout {
  using Element = Format;
  static constexpr bool kDecodes = Format::kElementBytes == 1;
  static constexpr int kParts = kAttenders, kEndWarps = kAttenders * kGroupWarps;
  static constexpr int kBringers = kDecodes ? 2 : 1;  ///< each brings every kBringers-th tile
  static constexpr int kThreads = (kAttenders + kBringers) * kGroupThreads;
  /// Of the 65,536 / kThreads a thread that the block begins with: sums alone are 128.
  static constexpr int kBringRegisters = 56, kAttendRegisters = kDecodes ? 200 : 224;
  static constexpr int kHeldSteps = kDecodes ? 4 : 8;  ///< of the queries' kSteps, in those registers
  static_assert((kAttenders * kAttendRegisters + kBringers * kBringRegisters) * kGroupThreads <= 65536);
  static constexpr int kLag = kDecodes ? 1 : 3;  ///< tiles of a bringer on their way when it awaits one more
  static constexpr int kStages = kDecodes ? 4 : 6, kStageBytes = 2 * kWidePlaneBytes;
  static constexpr int kCodeTiles = kDecodes ? kBringers * (kLag + 1) : 0,
                       kCodeBytes = 2 * kTokens * kDim;  ///< of a tile
  static constexpr int kQueries = 0;
  static constexpr int kRing = kQueries + kQueryBytes;  ///< rows 48 to 63 of the queries read on into it
  static constexpr int kCodes = kRing + kStages * kStageBytes;
  static constexpr int kMasks = kCodes + kCodeTiles * kCodeBytes;
  static constexpr int kBarriers = kMasks + kMaskTiles * kTileMicroblocks * 4;  ///< a stage: full, then free
  static constexpr int kMeeting = kBarriers + 2 * kStages * 8;                  ///< the barrier of the whole block
  static constexpr int kStats = kMeeting + 16;
  static constexpr int kHurt = kStats + kParts * kRows * static_cast<int>(sizeof(RowStats));
  static constexpr int kAgain = kHurt + 4 * kMaxTiles;  ///< 1 when the sums of the block are hurt
  static constexpr int kBytes = kAgain + 16;
  static_assert(kRing % 1024 == 0 && kQueryBytes / 4 % 1024 == 0 && kBarriers % 8 == 0);
  static_assert(kBytes <= 227 * 1024);
  static_assert(kStages > kBringers * kLag && kStages * kStageBytes >= kParts * kSumsBytes);
  static_assert(kMaskTiles >= kCodeTiles + kStages);  // the slot's last reader is done

  __device__ static int sum_index(int row, int dim) { return Layout<Wide<false>>::sum_index(row, dim); }
};

/// Hand-over of the block's stages, and its meetings. Tiles are counted over both sweeps.
template <class L>
struct Stages {
  std::uint32_t ring, barriers, meeting;

  __device__ explicit Stages(std::byte* shared)
      : ring(device::shared_address(shared + L::kRing)),
        barriers(device::shared_address(shared + L::kBarriers)),
        meeting(device::shared_address(shared + L::kMeeting)) {}

  __device__ void init() const {
    for (int stage = 0; stage < L::kStages; ++stage) {
      device::init_barrier(barriers + 16 * stage, kGroupWarps);
      device::init_barrier(barriers + 16 * stage + 8, kGroupWarps);
    }
    device::init_barrier(meeting, L::kThreads / 32);
  }
  [[nodiscard]] __device__ std::uint32_t stage(std::int32_t tile) const {
    return ring + static_cast<std::uint32_t>(tile % L::kStages * L::kStageBytes);
  }
  [[nodiscard]] __device__ std::uint32_t full(std::int32_t tile) const {
    return barriers + static_cast<std::uint32_t>(16 * (tile % L::kStages));
  }
  [[nodiscard]] __device__ std::uint32_t free(std::int32_t tile) const { return full(tile) + 8; }

  __device__ void wait_full(std::int32_t tile) const {
    device::wait_for_turn(full(tile), static_cast<std::uint32_t>(tile / L::kStages & 1));
  }
  __device__ void wait_free(std::int32_t tile) const {
    device::wait_for_turn(free(tile), static_cast<std::uint32_t>(tile / L::kStages & 1 ^ 1));
  }
  /// All threads of the block, wherever in the code they stand, for the nth time (from 0).
  __device__ void block_meets(std::uint32_t nth) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) device::arrive(meeting);
    device::wait_for_turn(meeting, nth & 1);
  }
};

/// All threads that attend.
__device__ inline void attenders_meet() {
  named_barrier(2, kAttenders * kGroupThreads);
}

/// The masks of local tile n.
template <class L>
[[nodiscard]] __device__ std::uint32_t* masks_of(std::byte* shared, std::int32_t n) {
  return reinterpret_cast<std::uint32_t*>(shared + L::kMasks) + n % kMaskTiles * kTileMicroblocks;
}

}  // namespace refrain::grouped
