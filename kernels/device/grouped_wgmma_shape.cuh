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
  static constexpr int kBringers = kDecodes ? 2 : 1;  ///< each brings every kBringers-th tile
  static constexpr int kThreads = (kAttenders + kBringers) * kGroupThreads;
  static constexpr int kSumWarps = kAttenders * kGroupWarps, kBlockWarps = kThreads / 32;
  /// What the block begins with is handed from those who bring to those who attend: their sums alone are 128.
  static constexpr int kFirstRegisters = 65536 / kThreads / 8 * 8;
  static constexpr int kBringRegisters = kDecodes ? 64 : 72, kAttendRegisters = kDecodes ? 192 : 216;
  static_assert(kAttenders * kAttendRegisters + kBringers * kBringRegisters <=
                (kAttenders + kBringers) * kFirstRegisters);
  static constexpr bool kEarlyScores = !kDecodes;      ///< a tile's are begun before those ahead of it are used
  static constexpr int kHeldSteps = kDecodes ? 0 : 4;  ///< of the queries' kSteps, in registers
  static constexpr int kStages = kDecodes ? 4 : 6, kStageBytes = 2 * kWidePlaneBytes;
  static constexpr int kCodeTiles = kDecodes ? 4 : 0, kCodeBytes = 2 * kTokens * kDim;  ///< of a tile
  static constexpr int kQueries = 0;
  static constexpr int kRing = kQueries + kQueryBytes;  ///< rows 48 to 63 of the queries read on into it
  static constexpr int kCodes = kRing + kStages * kStageBytes;
  static constexpr int kMasks = kCodes + kCodeTiles * kCodeBytes;
  static constexpr int kBarriers = kMasks + kMaskTiles * kTileMicroblocks * 4;  ///< a plane: full, then free
  static constexpr int kMeeting = kBarriers + 4 * kStages * 8;                  ///< the barrier of the whole block
  static constexpr int kStats = kMeeting + 16;  ///< of the block, then of each that attends
  static constexpr int kHurt = kStats + (1 + kAttenders) * kRows * static_cast<int>(sizeof(RowStats));
  static constexpr int kAgain = kHurt + 4 * kMaxTiles;  ///< 1 when a result of the group came out hurt
  static constexpr int kBytes = kAgain + 16;
  static_assert(kRing % 1024 == 0 && kQueryBytes / 4 % 1024 == 0 && kBarriers % 8 == 0);
  static_assert(kBytes <= 227 * 1024);
  static_assert(kStages * kStageBytes >= kSumsBytes && kCodeTiles % kBringers == 0);

  __device__ static int sum_index(int row, int dim) { return Layout<Wide<false>>::sum_index(row, dim); }
};

/// Of a stage. They are handed over by themselves: scores are done with K long before P is there for V.
enum Plane : int { kKeys, kValues };

/// Hand-over of the block's stages, and its meetings. Tiles are counted over both sweeps.
template <class L>
struct Stages {
  std::uint32_t ring;  ///< where it begins; the barriers have their places from there

  __device__ explicit Stages(std::byte* shared) : ring(device::shared_address(shared + L::kRing)) {}

  __device__ void init() const {
    // Everybody arrives for himself; the masks' warp once more, with K.
    for (int i = 0; i < 4 * L::kStages; ++i)
      device::init_barrier(barriers() + 8 * i, kGroupThreads + (i % 4 == 0 ? 32 : 0));
    device::init_barrier(meeting(), L::kThreads);
  }
  [[nodiscard]] __device__ std::uint32_t plane(std::int32_t tile, Plane p) const {
    return ring + static_cast<std::uint32_t>(tile % L::kStages * L::kStageBytes + p * kWidePlaneBytes);
  }
  [[nodiscard]] __device__ std::uint32_t full(std::int32_t tile, Plane p) const {
    return barriers() + static_cast<std::uint32_t>(32 * (tile % L::kStages) + 16 * p);
  }
  [[nodiscard]] __device__ std::uint32_t free(std::int32_t tile, Plane p) const { return full(tile, p) + 8; }

  /// Of a thread whose tensor cores read the plane next.
  __device__ void wait_full(std::int32_t tile, Plane p) const {
    device::wait_for_turn(full(tile, p), static_cast<std::uint32_t>(tile / L::kStages & 1));
    // What copies wrote is published by those who have seen it arrive, what threads wrote by the threads.
    if (!L::kDecodes) device::publish_to_tensor_cores();
  }
  __device__ void wait_free(std::int32_t tile, Plane p) const {
    device::wait_for_turn(free(tile, p), static_cast<std::uint32_t>(tile / L::kStages & 1 ^ 1));
  }

  [[nodiscard]] __device__ std::uint32_t codes() const { return ring + (L::kCodes - L::kRing); }

  /// All threads of the block, wherever in the code they stand, for the nth time (from 0).
  __device__ void block_meets(std::uint32_t nth) const {
    device::arrive(meeting());
    device::wait_for_turn(meeting(), nth & 1);
  }

 private:
  [[nodiscard]] __device__ std::uint32_t barriers() const { return ring + (L::kBarriers - L::kRing); }
  [[nodiscard]] __device__ std::uint32_t meeting() const { return ring + (L::kMeeting - L::kRing); }
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
