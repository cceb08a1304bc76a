// The warpgroup that brings tiles of a 16-bit cache to the stages of grouped_attention,
// as they are. A lane has one 16-byte chunk of a panel and one token of four, in two
// microblocks: two addresses a tile, and the panels are multiples from there. Rows that
// no query attends are filled with zeros by their copies. A plane is handed over by its
// copies themselves as they arrive, so the warps here wait for places alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "kernels/device/grouped_plan.cuh"

namespace refrain::grouped {

template <class L>
class WideBringer : public Bringing<L> {
  using Base = Bringing<L>;
  using Format = typename L::Element;
  using Base::args_;
  using Base::first_;
  using Base::lane_;
  using Base::planned_;
  using Base::stages_;
  using Base::warp_;
  using Base::work_;

 public:
  __device__ WideBringer(const GroupedAttentionArgs& args, const Work& work, std::byte* shared, const Stages<L>& stages,
                         std::int32_t first, const PlannedTiles& planned)
      : Base(args, work, shared, stages, first, planned),
        token_(lane_ / 8),
        to_(device::panel_chunk(kTokens, 8 * warp_ + token_, lane_ % 8)) {
    static_assert(Format::kRowBytes == kPanels * device::kPanelRowBytes);
  }

  /// All of its tiles, once; `base` tiles of the block went before. kZero: rows that no query attends come as zeros;
  /// kContain: non-finite V is taken out.
  template <bool kZero, bool kContain>
  __device__ void sweep(std::int32_t base) {
#pragma unroll 1
    for (std::int32_t n = first_, which = 0; n < work_.local; n += L::kBringers, ++which) {
      const std::int32_t tile = base + n;
      Base::go_to(which);
      if (kZero && which % PlannedTiles::kTiles == 0) attended_ = planned_.attended(token_);
      const Source source = source_of<kZero>(which);
      copy(kKeys, tile, source);
      device::arrive_when_copied(stages_.full(tile, kKeys));
      Base::put_masks(which, tile);
      Base::look_ahead(which);
      copy(kValues, tile, source);
      if constexpr (kContain)
        contain_values(n, tile);
      else
        device::arrive_when_copied(stages_.full(tile, kValues));
    }
  }

 private:
  static constexpr int kPanels = kDim / device::kPanelElements;

  /// Of this lane's chunk in the first panel of K, in both microblocks.
  struct Source {
    const std::byte* from[2];
    bool wanted[2];
  };

  template <bool kZero>
  [[nodiscard]] __device__ Source source_of(std::int32_t which) const {
    Source source;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      // In 64 bits: a pool may have 2^30 microblocks.
      const std::int64_t row = std::int64_t{kMicroblockTokens} * planned_.block_of(which, 2 * warp_ + i) + token_;
      source.from[i] = args_.pool.data + row * Format::kRowBytes + 16 * (lane_ % 8);
      source.wanted[i] =
          !kZero || (attended_ >> (which % PlannedTiles::kTiles * kTileMicroblocks + 2 * warp_ + i) & 1u) != 0;
    }
    return source;
  }

  __device__ void copy(Plane plane, std::int32_t tile, const Source& source) const {
    stages_.wait_free(tile, plane);
    const std::uint32_t to = stages_.plane(tile, plane) + to_;
    const std::int64_t skipped = plane == kKeys ? 0 : args_.pool.plane_elements() * Format::kElementBytes;
#pragma unroll
    for (int i = 0; i < 2; ++i)
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel)
        device::copy16_or_zero(place(to, i, panel), source.from[i] + skipped + panel * device::kPanelRowBytes,
                               source.wanted[i]);
  }

  /// The second microblock lies four rows further, which the swizzle sees.
  [[nodiscard]] __device__ static std::uint32_t place(std::uint32_t first, int i, int panel) {
    return (i == 0 ? first : (first ^ 64u) + kMicroblockTokens * device::kPanelRowBytes) +
           static_cast<std::uint32_t>(panel * kTokens * device::kPanelRowBytes);
  }

  __device__ void contain_values(std::int32_t n, std::int32_t tile) const {
    device::commit_copies();
    device::wait_for_copies<0>();
#pragma unroll 1
    for (int at = 0; at < 2 * kPanels; ++at) {
      const std::uint32_t from = place(stages_.plane(tile, kValues) + to_, at % 2, at / 2);
      uint4 four = load_shared16(from);
      if (Base::contain(four, n, 8 * warp_ + kMicroblockTokens * (at % 2) + token_)) store_shared16(from, four);
    }
    device::arrive(stages_.full(tile, kValues));
  }

  int token_;                   ///< of a microblock
  std::uint32_t to_;            ///< this lane's chunk in a plane
  std::uint32_t attended_ = 0;  ///< bit l: this lane's token of lane l's entry in planned_
};

}  // namespace refrain::grouped
