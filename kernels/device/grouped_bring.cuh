// A warpgroup that brings tiles to the stages of grouped_attention: a 16-bit cache's
// rows go there as they are; E4M3 codes go to a place of their own and are decoded from
// it. Each thread decodes, and looks for non-finite elements in, what it copied itself,
// so nobody waits for anybody here. Rows that no query attends are filled with zeros by
// their copies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "kernels/device/grouped_loads.cuh"
#include "kernels/device/grouped_wgmma_shape.cuh"

namespace refrain::grouped {

/// A lane's token of a tile: its microblock, and the mask of that.
struct PlannedToken {
  std::int32_t block = 0;
  std::uint32_t mask = 0;
};

__device__ inline PlannedToken planned_token(const GroupedAttentionArgs& args, const Work& work, std::int32_t n,
                                             int lane) {
  if (n >= work.local) return {};
  const std::int64_t at =
      std::int64_t{work.group} * kGroupedWidth + (n * work.splits + work.rank) * kTileMicroblocks + lane / 4;
  return {args.microblocks[at], args.masks[at]};
}

/// What one thread copies of a tile, 16 bytes a piece: piece i of a plane is row row(i), chunk `chunk` of the cache's
/// row. Two rows of codes share a warp so that no store of what they decode to meets another in a bank.
template <class L>
struct Pieces {
  static constexpr int kCount = L::kDecodes ? 4 : 8;
  int warp, lane, chunk;

  __device__ Pieces()
      : warp(static_cast<int>(threadIdx.x) / 32 % kGroupWarps),
        lane(static_cast<int>(threadIdx.x) % 32),
        chunk(L::kDecodes ? lane / 8 * 4 + lane % 4 : lane) {}

  [[nodiscard]] __device__ int row(int i) const {
    return L::kDecodes ? 2 * (kGroupWarps * i + warp) + lane / 4 % 2 : kGroupWarps * i + warp;
  }
  /// Where the piece's first 16 bytes go in a plane; of decoded ones the other 16 go to second(i).
  [[nodiscard]] __device__ std::uint32_t first(int i) const {
    return device::panel_chunk(kTokens, row(i), L::kDecodes ? 2 * chunk : chunk);
  }
  [[nodiscard]] __device__ std::uint32_t second(int i) const { return first(i) ^ 16u; }
};

/// The thread's place for piece i of plane p of a tile of codes.
template <class L>
[[nodiscard]] __device__ std::uint32_t code_place(std::uint32_t codes, std::int32_t tile, int p, int i) {
  const int slot = tile % L::kCodeTiles * (L::kCodeBytes / (16 * kGroupThreads)) + Pieces<L>::kCount * p + i;
  return codes + 16 * kGroupThreads * slot + 16 * (static_cast<int>(threadIdx.x) % kGroupThreads);
}

template <class L>
class Bringer {
 public:
  using Format = typename L::Element;

  /// Of the block's local tiles `first` and every L::kBringers-th from there on.
  __device__ Bringer(const GroupedAttentionArgs& args, const Work& work, std::byte* shared, std::int32_t first)
      : args_(args),
        work_(work),
        first_(first),
        shared_(shared),
        stages_(shared),
        codes_(device::shared_address(shared + L::kCodes)) {}

  /// All of its tiles, once; `base` tiles of the block went before.
  template <bool kZero>
  __device__ void sweep(std::int32_t base, bool contain) {
    next_ = planned_token(args_, work_, first_, pieces_.lane);
    std::int32_t behind = first_;
#pragma unroll 1
    for (std::int32_t n = first_; n < work_.local; n += L::kBringers) {
      start<kZero>(n, base + n);
      if (n - behind < L::kLag * L::kBringers) continue;
      device::wait_for_copies<L::kLag>();
      publish(behind, base + behind, contain);
      behind += L::kBringers;
    }
    device::wait_for_copies<0>();
#pragma unroll 1
    for (; behind < work_.local; behind += L::kBringers) publish(behind, base + behind, contain);
  }

 private:
  /// Starts the copies of local tile n, the `tile`-th of all.
  template <bool kZero>
  __device__ void start(std::int32_t n, std::int32_t tile) {
    const PlannedToken token = next_;
    next_ = planned_token(args_, work_, n + L::kBringers, pieces_.lane);
    const std::uint32_t attended = kZero ? __ballot_sync(~0u, row_attended(token.mask, pieces_.lane)) : ~0u;
    if (!L::kDecodes) stages_.wait_free(tile);
    if (pieces_.warp == 0 && pieces_.lane % 4 == 0) masks_of<L>(shared_, tile)[pieces_.lane / 4] = token.mask;
    const std::int64_t plane = args_.pool.plane_elements() * Format::kElementBytes;
    // Pieces are multiples of four rows apart, so each is the same row of its microblock.
    const std::byte* first = args_.pool.data + (pieces_.row(0) & 3) * Format::kRowBytes + 16 * pieces_.chunk;
#pragma unroll
    for (int i = 0; i < Pieces<L>::kCount; ++i) {
      const int row = pieces_.row(i);
      const std::byte* from =
          first + static_cast<std::int64_t>(__shfl_sync(~0u, token.block, row)) * (4 * Format::kRowBytes);
      const bool wanted = (attended >> row & 1u) != 0;
#pragma unroll
      for (int p = 0; p < 2; ++p) device::copy16_or_zero(place(tile, p, i), from + p * plane, wanted);
    }
    device::commit_copies();
  }

  /// Where piece i of plane p is copied to.
  [[nodiscard]] __device__ std::uint32_t place(std::int32_t tile, int p, int i) const {
    if constexpr (L::kDecodes)
      return code_place<L>(codes_, tile, p, i);
    else
      return stages_.stage(tile) + p * kWidePlaneBytes + pieces_.first(i);
  }

  /// Hands local tile n over; this thread's copies of it are done.
  __device__ void publish(std::int32_t n, std::int32_t tile, bool contain) {
    if constexpr (L::kDecodes) {
      stages_.wait_free(tile);
      decode(n, tile, contain);
    } else if (contain) {
#pragma unroll 1
      for (int i = 0; i < Pieces<L>::kCount; ++i) {
        const std::uint32_t at = stages_.stage(tile) + kWidePlaneBytes + pieces_.first(i);
        uint4 four = load_shared16(at);
        if (contain_piece(four, n, pieces_.row(i))) store_shared16(at, four);
      }
    }
    device::publish_to_tensor_cores();
    __syncwarp();
    if (pieces_.lane == 0) device::arrive(stages_.full(tile));
  }

  __device__ void decode(std::int32_t n, std::int32_t tile, bool contain) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const std::uint32_t plane = stages_.stage(tile) + p * kWidePlaneBytes;
#pragma unroll
      for (int i = 0; i < Pieces<L>::kCount; ++i) {
        uint4 codes = load_shared16(code_place<L>(codes_, tile, p, i));
        if (p == 1 && contain) contain_piece(codes, n, pieces_.row(i));
        store_decoded(plane + pieces_.first(i), codes.x, codes.y);
        store_decoded(plane + pieces_.second(i), codes.z, codes.w);
      }
    }
  }

  __device__ static void store_decoded(std::uint32_t to, std::uint32_t low, std::uint32_t high) {
    store_shared16(to,
                   {Format::decode(low), Format::decode(low >> 16), Format::decode(high), Format::decode(high >> 16)});
  }

  /// Zeroes the piece's non-finite elements and notes its row; false where there are none.
  __device__ bool contain_piece(uint4& piece, std::int32_t n, int row) {
    const uint4 bad = {Format::non_finite(piece.x), Format::non_finite(piece.y), Format::non_finite(piece.z),
                       Format::non_finite(piece.w)};
    if ((bad.x | bad.y | bad.z | bad.w) == 0) return false;
    piece = {piece.x & ~bad.x, piece.y & ~bad.y, piece.z & ~bad.z, piece.w & ~bad.w};
    atomicOr(reinterpret_cast<std::uint32_t*>(shared_ + L::kHurt) + n, 1u << row);
    return true;
  }

  const GroupedAttentionArgs& args_;
  const Work& work_;
  std::int32_t first_;
  std::byte* shared_;
  Stages<L> stages_;
  std::uint32_t codes_;
  Pieces<L> pieces_;
  PlannedToken next_;
};

}  // namespace refrain::grouped
