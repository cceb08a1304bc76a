// A pool of 256-token pages with random bytes, a scratch, a mask and lists of
// indices, everything else poisoned; and what the scratch and the mask must hold
// after a split, byte for byte, from the published page layout: its formulas stand
// here as numbers and share nothing with kernels/mla_pool_view.hpp.
#pragma once

#include <cstring>
#include <random>

#include "kernels/page_split.hpp"
#include "tests/kernels/memory.hpp"

namespace refrain::test {

/// 256-token pages of 147,456 data and 2,048 footer bytes; 64-token pages of 36,864 and 512; both padded to 576.
inline constexpr std::size_t kSourcePage = 149'760, kSourceFooters = 147'456;
inline constexpr std::size_t kScratchPage = 37'440, kScratchFooters = 36'864, kFooterPart = 512;

struct SplitScene {
  SplitScene(std::int64_t pages, std::int32_t rows, std::int32_t topk, std::mt19937_64& rng, std::size_t offset = 0) {
    const auto count = static_cast<std::size_t>(pages);
    args.source = {memory.take_bytes(count * kSourcePage + offset) + offset, pages, 256, MlaRecord::e4m3_584};
    args.scratch = {memory.take_bytes(4 * count * kScratchPage + offset) + offset, 4 * pages, 64, MlaRecord::e4m3_584};
    for (std::size_t i = 0; i < count * kSourcePage; i += 8) {
      const std::uint64_t bits = rng();
      std::memcpy(args.source.data + i, &bits, 8);
    }
    args.indices = indices = memory.take<std::int32_t>(std::int64_t{rows} * topk);  // -1 all: no entry
    args.lengths = lengths = memory.take<std::int32_t>(rows);
    args.real_rows = real_rows = memory.take<std::int32_t>(1);
    args.touched = touched = memory.take<std::uint8_t>(pages + 1);  // one more, that nobody may write
    args.rows = rows, args.topk = topk;
    *real_rows = rows;
    for (std::int32_t row = 0; row < rows; ++row) lengths[row] = topk;
  }

  [[nodiscard]] std::vector<std::byte> scratch_bytes() const {
    return {args.scratch.data, args.scratch.data + 4 * static_cast<std::size_t>(args.source.pages) * kScratchPage};
  }
  [[nodiscard]] std::vector<std::uint8_t> mask() const { return {touched, touched + args.source.pages}; }

  /// What a scratch that held `before` holds once exactly `pages` were copied.
  [[nodiscard]] std::vector<std::byte> expected(std::vector<std::byte> before, const std::vector<std::size_t>& pages,
                                                bool zeroed_page0 = true) const {
    if (zeroed_page0) std::memset(before.data(), 0, kScratchPage);
    for (const std::size_t p : pages)
      for (std::size_t j = 0; j < 4; ++j) {
        const std::byte* source = args.source.data + p * kSourcePage;
        std::byte* target = before.data() + (4 * p + j) * kScratchPage;
        for (std::size_t b = 0; b < kScratchFooters; ++b) target[b] = source[kScratchFooters * j + b];
        for (std::size_t b = 0; b < kFooterPart; ++b)
          target[kScratchFooters + b] = source[kSourceFooters + kFooterPart * j + b];
      }
    return before;
  }

  [[nodiscard]] std::vector<std::uint8_t> expected_mask(const std::vector<std::size_t>& pages) const {
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(args.source.pages));
    for (const std::size_t page : pages) mask[page] = 1;
    return mask;
  }

  Memory memory;
  PageSplitArgs args;
  std::int32_t* indices = nullptr;
  std::int32_t* lengths = nullptr;
  std::int32_t* real_rows = nullptr;
  std::uint8_t* touched = nullptr;
};

}  // namespace refrain::test
