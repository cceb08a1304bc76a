// The copies of grouped_attention: plan entries into a ring, a tile ahead of any
// use, and K/V rows into stages. A row that no query attends is filled with zeros by
// its copy; it costs nothing beside the copy, and no barrier. Not a barrier itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "kernels/device/grouped_instructions.cuh"
#include "kernels/device/grouped_shape.cuh"

namespace refrain::grouped {

/// The ring's words of local tile n: ids, then masks.
__device__ inline std::uint32_t* ring_entry(std::byte* ring, std::int32_t n) {
  return reinterpret_cast<std::uint32_t*>(ring) + n % kRingTiles * kRingWords;
}

/// Thread i < 16 copies word i of the tile's plan entries.
__device__ inline void fetch_plan(const GroupedAttentionArgs& args, const Work& work, std::int32_t n, std::byte* ring,
                                  int thread) {
  if (thread >= kRingWords || n >= work.local) return;
  const std::int64_t at = work.entries_of(n) + thread % kTileMicroblocks;
  const void* from = thread < kTileMicroblocks ? static_cast<const void*>(args.microblocks + at) : args.masks + at;
  copy4(device::shared_address(ring_entry(ring, n) + thread), from);
}

/// Is row `row` of the tile attended by any of the eight queries?
__device__ inline bool row_attended(std::uint32_t mask, int row) {
  return (mask & 0x11111111u << (row & 3)) != 0;
}

/// K and V of local tile n to its stage; the entries lie in the ring. Commits nothing.
template <class Format, bool kZero>
__device__ void fetch_tile(const GroupedAttentionArgs& args, const Work& work, std::int32_t n, std::byte* stage,
                           std::byte* ring, const Place& place) {
  constexpr int kChunks = Format::kRowBytes / 16, kRowsAtOnce = 32 / kChunks;
  if (n >= work.local) return;
  const std::uint32_t* entry = ring_entry(ring, n);
  const std::uint32_t to = device::shared_address(stage);
  const std::int64_t plane_bytes = args.pool.plane_elements() * Format::kElementBytes;
  const int chunk = place.lane % kChunks;
  // Where a warp copies whole rows, lane r keeps row r's microblock and its vote on whether anybody attends it: one
  // look at the ring a tile. Where two rows share a warp, looking again is cheaper.
  constexpr bool kVote = kRowsAtOnce == 1;
  std::uint32_t own_block = 0, attended = ~0u;
  if constexpr (kVote) {
    own_block = entry[place.lane >> 2];
    if (kZero) attended = __ballot_sync(~0u, row_attended(entry[kTileMicroblocks + (place.lane >> 2)], place.lane));
  }
#pragma unroll 2
  for (int row = kRowsAtOnce * place.warp + place.lane / kChunks; row < kTokens; row += kRowsAtOnce * kWarps) {
    const std::int64_t block = static_cast<std::int32_t>(kVote ? __shfl_sync(~0u, own_block, row) : entry[row >> 2]);
    const bool wanted =
        !kZero || (kVote ? (attended >> row & 1u) != 0 : row_attended(entry[kTileMicroblocks + (row >> 2)], row));
    const std::byte* from =
        args.pool.data + block * (4 * Format::kRowBytes) + (row & 3) * Format::kRowBytes + 16 * chunk;
    const std::uint32_t at = to + row * Format::kRowBytes;
    device::copy16_or_zero(at + 16 * Format::k_chunk(row, chunk), from, wanted);
    device::copy16_or_zero(at + Layout<Format>::kPlaneBytes + 16 * Format::v_chunk(row, chunk), from + plane_bytes,
                           wanted);
  }
}

}  // namespace refrain::grouped
