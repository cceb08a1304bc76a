// What a warpgroup that brings tiles to grouped_attention knows of the plan, and what
// it does with every tile, however it gets there: masks to their place, and non-finite
// V taken out on the second sweep. A warp has two of a tile's eight microblocks, so a
// lane needs two entries of it. How planes get there and are handed over is not here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/grouped_loads.cuh"
#include "kernels/device/grouped_wgmma_shape.cuh"

namespace refrain::grouped {

/// Entries of four of a bringer's tiles: lane l has entry l % 8 of the (l / 8)-th.
struct PlannedTiles {
  static constexpr std::int32_t kTiles = 4;
  std::int32_t block = 0;
  std::uint32_t mask = 0;

  PlannedTiles() = default;
  /// From the bringer's tile `which` on. Asks for memory and waits for nothing; what lies behind the block's tiles is
  /// read and not used.
  __device__ PlannedTiles(const GroupedAttentionArgs& args, const Work& work, std::int32_t first, std::int32_t which,
                          int bringers) {
    static_assert(kTiles * kTileMicroblocks == 32);
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::int32_t n = first + bringers * (which + lane / kTileMicroblocks);
    if (n * work.splits + work.rank >= kMaxTiles) return;
    const std::int64_t at = work.entries_of(n) + lane % kTileMicroblocks;
    block = args.microblocks[at];
    mask = args.masks[at];
  }

  /// Of entry `entry` of the bringer's tile `which`.
  [[nodiscard]] __device__ std::int32_t block_of(std::int32_t which, int entry) const {
    return __shfl_sync(~0u, block, which % kTiles * kTileMicroblocks + entry);
  }
  /// Bit l: somebody attends the calling lane's `token` (0 to 3) of lane l's entry.
  [[nodiscard]] __device__ std::uint32_t attended(int token) const {
    std::uint32_t own = 0;
#pragma unroll
    for (int t = 0; t < kMicroblockTokens; ++t) {
      const std::uint32_t all = __ballot_sync(~0u, row_attended(mask, t));
      if (t == token) own = all;
    }
    return own;
  }
  [[nodiscard]] __device__ std::uint32_t mask_of(std::int32_t which, int entry) const {
    return __shfl_sync(~0u, mask, which % kTiles * kTileMicroblocks + entry);
  }
};

/// Of a warpgroup that brings the block's local tiles `first` and every L::kBringers-th from there on.
template <class L>
class Bringing {
 public:
  using Format = typename L::Element;

 protected:
  /// `planned` are the first of its tiles.
  __device__ Bringing(const GroupedAttentionArgs& args, const Work& work, std::byte* shared, const Stages<L>& stages,
                      std::int32_t first, const PlannedTiles& planned)
      : args_(args),
        work_(work),
        shared_(shared),
        stages_(stages),
        first_(first),
        warp_(thread() / 32 % kGroupWarps),
        lane_(thread() % 32),
        planned_(planned) {
    static_assert(2 * kGroupWarps == kTileMicroblocks);
  }

  [[nodiscard]] __device__ PlannedTiles planned_from(std::int32_t which) const {
    return {args_, work_, first_, which, L::kBringers};
  }

  /// Before the bringer's tile `which`, in order: what planned_ holds is of it.
  __device__ void go_to(std::int32_t which) {
    if (which > 0 && which % PlannedTiles::kTiles == 0) planned_ = ahead_;
  }

  /// At a place where the tile waits for others anyhow: what comes behind planned_.
  __device__ void look_ahead(std::int32_t which) {
    if (which % PlannedTiles::kTiles == 0) ahead_ = planned_from(which + PlannedTiles::kTiles);
  }

  /// The masks of the block's tile-th tile, handed over with its K. The slot's last reader is done: it gave back K of
  /// the tile that lay where this one's K is going to be.
  __device__ void put_masks(std::int32_t which, std::int32_t tile) const {
    static_assert(kMaskTiles >= L::kStages + kAttenders);
    if (warp_ != 0) return;
    if (lane_ / kTileMicroblocks == which % PlannedTiles::kTiles)
      masks_of<L>(shared_, tile)[lane_ % kTileMicroblocks] = planned_.mask;
    __syncwarp();
    device::arrive(stages_.full(tile, kKeys));
  }

  /// Zeroes non-finite elements of a piece of local tile n's V and notes its row; false where there are none.
  __device__ bool contain(uint4& piece, std::int32_t n, int row) const {
    const uint4 bad = {Format::non_finite(piece.x), Format::non_finite(piece.y), Format::non_finite(piece.z),
                       Format::non_finite(piece.w)};
    if ((bad.x | bad.y | bad.z | bad.w) == 0) return false;
    piece = {piece.x & ~bad.x, piece.y & ~bad.y, piece.z & ~bad.z, piece.w & ~bad.w};
    atomicOr(reinterpret_cast<std::uint32_t*>(shared_ + L::kHurt) + n, 1u << row);
    return true;
  }

  /// Of the block. Read where it is asked for: what the compiler derives from threadIdx for those who attend as well
  /// would stand in their registers, of which they have none to spare.
  [[nodiscard]] __device__ static int thread() {
    int x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return x;
  }

  const GroupedAttentionArgs& args_;
  const Work& work_;
  std::byte* shared_;
  const Stages<L>& stages_;
  std::int32_t first_;
  int warp_, lane_;
  PlannedTiles planned_, ahead_;
};

}  // namespace refrain::grouped
