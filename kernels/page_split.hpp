// page_split: 256-token pages of e4m3_584 records to a scratch of 64-token pages,
// for the source pages that this step's index lists touch. It zeroes the touched
// mask and the scratch's page 0 itself, at every replay; source page 0 is the null
// block and is never copied, so page 0 of the scratch stays zero. A slot is the same
// number in both: 256 p + t = 64 (4 p + t / 64) + t % 64.
#pragma once

#include "kernels/mla_pool_view.hpp"
#include "kernels/op.hpp"

namespace refrain {

inline constexpr std::int32_t kSplitSourceTokens = 256;
inline constexpr std::int32_t kSplitTokens = 64;
inline constexpr std::int32_t kSplitParts = kSplitSourceTokens / kSplitTokens;  ///< scratch pages a source page

struct PageSplitArgs {
  MlaPoolView source;                       ///< 256 tokens a page, e4m3_584
  MlaPoolView scratch;                      ///< out: 64 tokens a page, e4m3_584, 4 * source.pages pages
  const std::int32_t* indices = nullptr;    ///< [rows, topk]: slots; what is no slot of the source is passed over
  const std::int32_t* lengths = nullptr;    ///< [rows] or null: topk each; entries past it are not looked at
  const std::int32_t* real_rows = nullptr;  ///< [1]: rows at or past it touch nothing
  std::int32_t rows = 0, topk = 0;
  std::uint8_t* touched = nullptr;  ///< scratch [source.pages]: 1 for a page that this step's indices name, also page 0
  bool zero_touched = true;         ///< off: the fault `split-scratch-unzeroed`; what the mask held is copied too
  bool zero_page0 = true;           ///< off: the faults `split-scratch-unzeroed` and `split-zero-page0-off`
  bool int32_offsets = false;       ///< the fault `split-int32-offsets`: page * bytes wraps at 2^31
};

/// Byte offset of a page, in the width that the kernel computes it in: with the fault it wraps as an int32 does.
[[nodiscard]] constexpr std::int64_t split_page_offset(std::int64_t page, std::int64_t page_bytes,
                                                       bool int32_offsets) noexcept {
  const std::int64_t offset = page * page_bytes;
  return int32_offsets ? static_cast<std::int32_t>(static_cast<std::uint32_t>(offset)) : offset;
}

/// Gives `zeroed` over the scratch's page 0. The mask is an exact write: it is cleared first, but marks stand in it
/// when the op ends, so nobody is told that it is zero; with zero_touched off it is read, and needs `zeroed`. Scratch
/// pages 4 and up are a `may` write of data and footers; the pad at a page's end and pages 1 to 3 are never written.
///
/// With int32_offsets the contract names the bytes that the wrapped offsets reach, those below a pool's first byte with
/// a base of their own. A page whose wrapped source or destination lies outside its pool is left out, by the twin and
/// by the kernel: its place then keeps what it held, and the fault can be run.
extern const Op<PageSplitArgs> page_split;

}  // namespace refrain
