// The geometry of sparse MLA on warpgroups (sm_90a): 64 heads are the rows of the
// products, 64 entries a tile. Two warpgroups attend: each scores half of a tile's
// entries, and sums half of the dims over all of them. One brings the tiles, or two where
// records are decoded on the way. A block takes one share after another, so that the next
// one's tiles come while this one ends. Shared memory is laid out here and nowhere else.
#pragma once

#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "kernels/device/mbarrier.cuh"
#include "kernels/device/wgmma.cuh"
#include "kernels/mla_pool_view.hpp"

namespace refrain::device {

template <MlaRecord kFormat>
struct MlaWgmmaShape {
  static constexpr MlaRecord kRecord = kFormat;
  static constexpr bool kDecodes = kRecord != MlaRecord::bf16;
  static constexpr bool kFooter = kRecord == MlaRecord::e4m3_584;
  static constexpr int kHeads = 64, kEntries = 64, kOwnEntries = kEntries / 2;
  static constexpr int kDim = kFooter ? 512 : 576, kNope = kFooter ? 448 : 512, kOwnDims = kMlaValueDim / 2;
  static constexpr int kRecordBytes = kFooter ? 576 : kDecodes ? 656 : 2 * kDim;

  static constexpr int kGroupThreads = 128, kAttenders = 2, kBringers = kDecodes ? 2 : 1;
  static constexpr int kAttendThreads = kAttenders * kGroupThreads, kBringThreads = kBringers * kGroupThreads;
  static constexpr int kThreads = kAttendThreads + kBringThreads;
  static constexpr int kWarpEntries = kEntries / (kBringThreads / 32);  ///< of a tile, that one warp brings
  /// What the block begins with is handed from those who bring to those who attend: their sums alone are 128.
  static constexpr int kFirstRegisters = 65536 / kThreads / 8 * 8;
  static constexpr int kBringRegisters = kDecodes ? 80 : 72, kAttendRegisters = kDecodes ? 176 : 216;
  static_assert(kAttenders * kAttendRegisters + kBringers * kBringRegisters <=
                (kAttenders + kBringers) * kFirstRegisters);

  // 64 rows by 64 bf16 (wgmma.cuh): of the query, of a tile, and all of P.
  static constexpr int kPanels = kDim / kPanelElements, kPanelBytes = 64 * kPanelRowBytes;
  static constexpr int kTiles = 2;
  static constexpr int kQueryBytes = kPanels * kPanelBytes, kTileBytes = kPanels * kPanelBytes;
  static constexpr int kTilesAt = kQueryBytes;
  static constexpr int kWeightsAt = kTilesAt + kTiles * kTileBytes;
  static constexpr int kMaxAt = kWeightsAt + kPanelBytes;                  ///< fp32 [attender][head]
  static constexpr int kSumsAt = kMaxAt + kAttenders * kHeads * 4;         ///< two fp32 [attender][head]
  static constexpr int kAttendedAt = kSumsAt + kAttenders * kHeads * 8;    ///< a bit an entry [tile]
  static constexpr int kBarriersAt = kAttendedAt + kTiles * kEntries / 8;  ///< a tile: full, then free
  static constexpr int kQueryBarriersAt = kBarriersAt + 2 * kTiles * 8;    ///< full, then free
  static constexpr int kSharedBytes = kQueryBarriersAt + 2 * 8;
  static_assert(kBarriersAt % 8 == 0 && kSharedBytes <= 227 * 1024);
};

/// Hand-over of the query and of tiles, which are counted over all shares of the block.
template <class Shape>
struct MlaHandOver {
  std::uint32_t base;

  __device__ explicit MlaHandOver(const char* shared) : base(shared_address(shared)) {}

  /// By one thread.
  __device__ void init() const {
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
      init_barrier(full(tile), Shape::kBringThreads);
      init_barrier(free(tile), Shape::kAttendThreads);
    }
    init_barrier(query_full(), Shape::kBringThreads);
    init_barrier(query_free(), Shape::kAttendThreads);
  }
  [[nodiscard]] __device__ std::uint32_t tile(std::int32_t n) const {
    return base + Shape::kTilesAt + static_cast<std::uint32_t>(n % Shape::kTiles) * Shape::kTileBytes;
  }
  [[nodiscard]] __device__ std::uint32_t attended(std::int32_t n) const {
    return base + Shape::kAttendedAt + static_cast<std::uint32_t>(n % Shape::kTiles) * (Shape::kEntries / 8);
  }
  [[nodiscard]] __device__ std::uint32_t full(std::int32_t n) const {
    return base + Shape::kBarriersAt + static_cast<std::uint32_t>(n % Shape::kTiles) * 16;
  }
  [[nodiscard]] __device__ std::uint32_t free(std::int32_t n) const { return full(n) + 8; }
  [[nodiscard]] __device__ std::uint32_t query_full() const { return base + Shape::kQueryBarriersAt; }
  [[nodiscard]] __device__ std::uint32_t query_free() const { return query_full() + 8; }

  __device__ void wait_full(std::int32_t n) const {
    wait_for_turn(full(n), static_cast<std::uint32_t>(n / Shape::kTiles & 1));
  }
  __device__ void wait_free(std::int32_t n) const {
    wait_for_turn(free(n), static_cast<std::uint32_t>(n / Shape::kTiles & 1 ^ 1));
  }
};

}  // namespace refrain::device
