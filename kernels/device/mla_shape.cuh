// The sizes that the sparse MLA kernels are built around: a record format and how
// many heads one block serves, the tile of 64 entries in subtiles of 16, and where
// everything lies in shared memory. Records come through a ring of subtiles; bf16
// records are used where they land, the others are decoded into a bf16 tile.
#pragma once

#include <cstdint>

#include "kernels/mla_pool_view.hpp"

namespace refrain::device {

/// Entries are the rows (M) of the products and heads the columns (N), in tiles of 8: no head count wastes a tile.
template <MlaRecord kFormat, int kHeadTilesOfABlock>
struct MlaShape {
  static constexpr MlaRecord kRecord = kFormat;
  static constexpr bool kDecoded = kRecord != MlaRecord::bf16;
  static constexpr bool kFooter = kRecord == MlaRecord::e4m3_584;
  static constexpr int kThreads = 512, kWarps = kThreads / 32;
  static constexpr int kEntries = 64, kSubEntries = 16, kSubs = kEntries / kSubEntries;
  static constexpr int kHeadTiles = kHeadTilesOfABlock, kHeads = 8 * kHeadTiles;
  static constexpr int kDim = kFooter ? 512 : 576, kNope = kFooter ? 448 : 512;

  // A row of the tile that the products read: swizzled 16-byte pieces.
  static constexpr int kRowBytes = 2 * kDim, kPieces = kRowBytes / 16;

  // Scores: 4 warps over the entries times 4 parts, which share out the dims, or the heads where there are many.
  static constexpr int kWays = kHeadTiles <= 2 ? 4 : kHeadTiles == 4 ? 2 : 1;  ///< parts of the dims
  static constexpr int kHeadParts = 4 / kWays;
  static constexpr int kPartTiles = kHeadTiles / kHeadParts;
  static constexpr int kSteps = kDim / 16 / kWays;
  static constexpr bool kQueryInRegisters = kHeadTiles <= 2;
  static constexpr int kHeadsAWarp = (kHeads + kWarps - 1) / kWarps;  ///< of the softmax
  static constexpr int kDimsAWarp = kMlaValueDim / kWarps;            ///< of the output

  static constexpr int kScoreStride = kEntries + 4;  ///< floats; free of conflicts for fragments and for rows
  static constexpr int kWeightStride = 2 * kEntries + 16, kQueryStride = kRowBytes + 16;  ///< bytes, likewise

  static constexpr int kTableTiles = 8;  ///< tiles whose entries are resolved ahead
  struct Tables {
    std::int64_t record[kTableTiles][kEntries];  ///< byte offset in the pool; -1: enters as zeros
    std::int64_t footer[kFooter ? kTableTiles : 1][kFooter ? kEntries : 1];
    std::uint32_t attended[kTableTiles][2];  ///< a bit an entry
    float factor[kHeads];                    ///< of the accumulator: to the new max, and at the end to the result
  };

  // Bytes of one entry in the ring. Footers lie behind the subtile's records.
  static constexpr int kRingRowBytes = kDecoded ? (kFooter ? 576 : 656) : kRowBytes;
  static constexpr int kRingPieces = kRingRowBytes / 16;
  static constexpr int kSubBytes = kSubEntries * (kRingRowBytes + (kFooter ? static_cast<int>(kMlaFooterBytes) : 0));

  static constexpr int kTableBytes = (static_cast<int>(sizeof(Tables)) + 127) / 128 * 128;
  static constexpr int kScoreBytes = kWays * kHeads * kScoreStride * 4;
  // Once the query is in registers, scores take its place.
  static constexpr int kMoreScoreBytes = kQueryInRegisters ? 0 : kScoreBytes;
  static constexpr int kQueryOnlyBytes = kHeads * kQueryStride;
  static constexpr int kQueryBytes = kQueryInRegisters && kScoreBytes > kQueryOnlyBytes ? kScoreBytes : kQueryOnlyBytes;
  static constexpr int kWeightBytes = kHeads * kWeightStride;
  static constexpr int kTileBytes = kEntries * kRowBytes;
  static constexpr int kTiles = !kDecoded ? 0 : kHeadTiles <= 2 ? 2 : 1;  ///< decoded ones
  static constexpr int kRingAt = kTiles * kTileBytes;  ///< the tiles or the ring come first, aligned for the swizzle
  static constexpr int kLargest = 232'448;             ///< shared memory that a block may have on sm_90
  static constexpr int kRoom = kLargest - kRingAt - kTableBytes - kQueryBytes - kMoreScoreBytes - kWeightBytes;
  static constexpr int kMostSubs = kRoom / kSubBytes < 12 ? kRoom / kSubBytes : 12;
  // Threads that decode refill the places they have read, without a barrier: a place must always be the same threads'.
  static constexpr int kRingSubs = kDecoded ? kMostSubs / kSubs * kSubs : kMostSubs;
  static constexpr int kTablesAt = (kRingAt + kRingSubs * kSubBytes + 127) / 128 * 128;
  static constexpr int kQueryAt = kTablesAt + kTableBytes;
  static constexpr int kScoreAt = kQueryInRegisters ? kQueryAt : kQueryAt + kQueryBytes;
  static constexpr int kWeightAt = kQueryAt + kQueryBytes + kMoreScoreBytes, kSharedBytes = kWeightAt + kWeightBytes;
  static_assert(kRingSubs >= kSubs && kSharedBytes <= kLargest);
  static_assert(kRingSubs + kSubs <= kSubs * kTableTiles / 2, "copies may not outrun the table");
  // Eight threads an entry, each with every eighth piece.
  static_assert(kThreads == 8 * kEntries);

  /// Byte offset of 16-byte piece `piece` of row `row` in a subtile.
  [[nodiscard]] __device__ static constexpr std::uint32_t place(std::uint32_t row, std::uint32_t piece) {
    return row * kRowBytes + ((piece ^ (row & 7)) << 4);
  }
};

}  // namespace refrain::device
