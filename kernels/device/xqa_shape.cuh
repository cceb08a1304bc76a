// The sizes that xqa_decode is built around: one KV format and head dim, how many
// tokens a warp takes at once, and where a token's 16-byte pieces lie in shared
// memory. Every warp has its own ring of stages and nobody else touches it. How many warps
// a block has decides its bits (XqaDecodeArgs::wide); how deep their rings are, and so how
// many blocks share a multiprocessor, does not, and is the launch's to choose.
#pragma once

#include <cstdint>

#include "kernels/xqa_splits.hpp"

namespace refrain::device {

enum class KvFormat : std::uint8_t { fp16, bf16, e4m3 };

inline constexpr int kXqaHeads = 16;  ///< query heads of one KV head that fit one MMA tile

/// A block of all the warps that a multiprocessor has at its best, or of half as many.
enum class XqaWidth : std::uint8_t { wide, narrow };

/// Rings as deep as kBlocksAnSm blocks a multiprocessor leave room for.
template <KvFormat kFormat, int kHeadDim, XqaWidth kWidth, int kBlocksAnSm>
struct XqaShape {
  static constexpr int kBlocks = kBlocksAnSm;
  static constexpr int kDim = kHeadDim;
  static constexpr bool kE4m3 = kFormat == KvFormat::e4m3;
  static constexpr bool kBf16 = kFormat == KvFormat::bf16;  ///< of Q and P too; else they are fp16
  static constexpr int kRowBytes = kDim * (kE4m3 ? 1 : 2);
  static constexpr int kTokens = kRowBytes >= 256 ? 16 : 32;  ///< of one stage
  static constexpr int kPlaneBytes = kTokens * kRowBytes;     ///< K, then V
  static constexpr int kStageBytes = 2 * kPlaneBytes;
  // All but one stage of every warp is under way. Over 16 bits one is enough on a full device: where a warp had two
  // (and there were eight for twelve), more requests stood in the memory's queues than it needs, some multiprocessors
  // got ahead of others and 0.3 to 3 % of the bandwidth was lost at the end (bench/limits.md). With E4M3, attending a
  // stage takes so long, and codes beside what they decode to so many registers, that eight warps of three stages are
  // faster for few rows and in a model's splits.
  static constexpr int kRings = 192 * 1024;  ///< bytes of a multiprocessor's rings
  static constexpr int kWarps = kRings / (kE4m3 ? 24 * 1024 : 2 * kStageBytes) / (kWidth == XqaWidth::wide ? 1 : 2);
  static constexpr int kStages = kRings / kBlocks / kWarps / kStageBytes;
  static constexpr int kRingBytes = kStages * kStageBytes;
  static_assert(kStages >= 2);
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kQSteps = kDim / 16;
  static constexpr bool kQStaysShared = kDim == 256;  ///< its fragments would take 64 of the 255 registers
  static constexpr int kColumnTiles = kDim / 8;       ///< of the output accumulator
  static constexpr int kOutStride = kDim + 4;         ///< floats from row to row of a warp's output in its ring

  struct Tail {
    uint4 q[kQSteps][32];  ///< A fragments, a lane's four registers together
    float max[kWarps][kXqaHeads], sum[kWarps][kXqaHeads];
    std::uint32_t complete;                                                  ///< a bit a head: its row's last split
    float merged_max[kXqaHeads], merged_sum[kXqaHeads], rescale[kXqaHeads];  ///< while splits are merged
  };
  static constexpr int kSharedBytes = kWarps * kRingBytes + static_cast<int>(sizeof(Tail));
  static_assert(kXqaHeads * kOutStride * 4 <= kRingBytes);
  static_assert(kSplitGranule % kTokens == 0);

  /// Byte offset of 16-byte piece `piece` of row `row` in a plane. Free of bank conflicts for the accesses of
  /// xqa_tile.cuh; 8 rows further is 8 * kRowBytes further, and `piece ^ x` is `offset ^ 16 * x`.
  [[nodiscard]] __device__ static constexpr std::uint32_t place(std::uint32_t row, std::uint32_t piece) {
    if constexpr (!kE4m3) return row * kRowBytes + ((piece ^ (row & 7)) << 4);
    if constexpr (kRowBytes >= 128) return row * kRowBytes + ((piece ^ (row & 6) ^ (row & 1) << 2) << 4);
    const std::uint32_t line = row >> 1;  // two rows of 64 bytes share the 32 banks
    return line * 128 + ((((row & 1) << 2 | piece) ^ (line & 3) << 1) << 4);
  }
};

}  // namespace refrain::device
