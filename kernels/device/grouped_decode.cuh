// The two warpgroups that bring tiles of an E4M3 cache to the stages of
// grouped_attention, every second one each. Codes go to a place of their own, two tiles
// ahead; from there they are decoded into the panels. A warp decodes the two microblocks
// that it copied itself. Rows that no query attends are filled with zeros by their copies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "kernels/device/grouped_plan.cuh"

namespace refrain::grouped {

template <class L>
class CodeBringer : public Bringing<L> {
  using Base = Bringing<L>;
  using Format = typename L::Element;
  using Base::ahead_;
  using Base::args_;
  using Base::first_;
  using Base::lane_;
  using Base::planned_;
  using Base::stages_;
  using Base::warp_;
  using Base::work_;

 public:
  __device__ CodeBringer(const GroupedAttentionArgs& args, const Work& work, std::byte* shared, const Stages<L>& stages,
                         std::int32_t first, const PlannedTiles& planned)
      : Base(args, work, shared, stages, first, planned),
        odd_(lane_ / 4 % 2),
        chunk_((lane_ / 8 * 4 + lane_ % 4) ^ (4 * odd_)) {}

  /// All of its tiles, once; `base` tiles of the block went before. kZero: rows that no query attends come as zeros;
  /// kContain: non-finite V is taken out.
  template <bool kZero, bool kContain>
  __device__ void sweep(std::int32_t base) {
#pragma unroll 1
    for (std::int32_t which = 0; which < kAhead; ++which) copy<kZero>(planned_, which);
#pragma unroll 1
    for (std::int32_t n = first_, which = 0; n < work_.local; n += L::kBringers, ++which) {
      const std::int32_t tile = base + n;
      Base::go_to(which);
      device::wait_for_copies<kAhead - 1>();
      __syncwarp();
      if constexpr (kContain) contain_codes(n, which);
      stages_.wait_free(tile, kKeys);
      Base::put_masks(which, tile);
      decode(kKeys, tile, which);
      Base::look_ahead(which);
      stages_.wait_free(tile, kValues);
      decode(kValues, tile, which);
      __syncwarp();                  // all lanes are done with the codes
      PlannedTiles next = planned_;  // not a choice between the two themselves: that takes addresses
      if (which % PlannedTiles::kTiles + kAhead >= PlannedTiles::kTiles) next = ahead_;
      copy<kZero>(next, which + kAhead);
    }
    device::wait_for_copies<0>();
  }

 private:
  static constexpr std::int32_t kAhead = 2;                             ///< tiles whose codes are here or on their way
  static constexpr int kPieces = 4;                                     ///< of a thread in a plane, 16 codes each
  static constexpr int kWarpCodes = L::kCodeBytes / (2 * kGroupWarps);  ///< of a plane: eight rows
  static_assert(L::kCodeTiles == kAhead * L::kBringers && PlannedTiles::kTiles >= kAhead);

  /// Where the warp's rows of a plane begin.
  [[nodiscard]] __device__ std::uint32_t codes(std::int32_t which, Plane plane) const {
    const int slot = which % kAhead * L::kBringers + first_;
    return stages_.codes() +
           static_cast<std::uint32_t>(slot * L::kCodeBytes + (kGroupWarps * plane + warp_) * kWarpCodes);
  }

  /// Starts the copies of the bringer's tile `which`; nothing behind the last one.
  template <bool kZero>
  __device__ void copy(const PlannedTiles& planned, std::int32_t which) const {
    constexpr int kBlockBytes = kMicroblockTokens * Format::kRowBytes;
    if (first_ + which * L::kBringers < work_.local) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const std::byte* from =
            args_.pool.data + std::int64_t{planned.block_of(which, 2 * warp_ + i)} * kBlockBytes + 16 * lane_;
        const std::uint32_t mask = planned.mask_of(which, 2 * warp_ + i);
        const std::int64_t plane_bytes = args_.pool.plane_elements();
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const bool wanted = !kZero || row_attended(mask, 2 * half + lane_ / 16);
          const auto at = static_cast<std::uint32_t>(i * kBlockBytes + 512 * half + 16 * lane_);
          device::copy16_or_zero(codes(which, kKeys) + at, from + 512 * half, wanted);
          device::copy16_or_zero(codes(which, kValues) + at, from + plane_bytes + 512 * half, wanted);
        }
      }
    }
    device::commit_copies();
  }

  /// Two rows share eight lanes, a chunk of one panel of the even row and of the next panel of the odd one: what they
  /// load together lies in all banks, and what they store together too. Of the warp's eight rows.
  [[nodiscard]] __device__ int row_of(int piece) const {
    return 2 * piece + odd_;
  }

  [[nodiscard]] __device__ std::uint32_t code_place(std::int32_t which, Plane plane, int piece) const {
    return codes(which, plane) + static_cast<std::uint32_t>(row_of(piece) * Format::kRowBytes + 16 * chunk_);
  }

  /// Decodes the warp's rows of a plane and hands them over.
  __device__ void decode(Plane plane, std::int32_t tile, std::int32_t which) const {
    const std::uint32_t to =
        stages_.plane(tile, plane) + static_cast<std::uint32_t>(8 * warp_ * device::kPanelRowBytes);
    uint4 four[kPieces];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) four[i] = load_shared16(code_place(which, plane, i));
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const std::uint32_t first = to + device::panel_chunk(kTokens, row_of(i), 2 * chunk_);
      store_decoded(first, four[i].x, four[i].y);
      store_decoded(first ^ 16u, four[i].z, four[i].w);
    }
    device::publish_to_tensor_cores();
    __syncwarp();
    device::arrive(stages_.full(tile, plane));
  }

  /// Non-finite V is taken out where the codes lie.
  __device__ void contain_codes(std::int32_t n, std::int32_t which) const {
#pragma unroll 1
    for (int i = 0; i < kPieces; ++i) {
      uint4 four = load_shared16(code_place(which, kValues, i));
      if (Base::contain(four, n, 8 * warp_ + row_of(i))) store_shared16(code_place(which, kValues, i), four);
    }
  }

  __device__ static void store_decoded(std::uint32_t to, std::uint32_t low, std::uint32_t high) {
    store_shared16(to, {Format::template decode<0>(low), Format::template decode<1>(low),
                        Format::template decode<0>(high), Format::template decode<1>(high)});
  }

  int odd_;    ///< of the two rows that share eight lanes
  int chunk_;  ///< 16 codes of a row
};

}  // namespace refrain::grouped
