// Pages beyond 2^31 bytes: by arithmetic, and by a split in two reservations of
// address space of which a few pages are ever touched.
#include <algorithm>
#include <cstring>

#include "kernels/page_split.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/reservation.hpp"
#include "tests/kernels/split_scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::size_t kPages = 14'342;

/// Pages 14,339 (whose last quarter is scratch page 57,359) and 14,341 hold 0x11 and 0x22, and are named.
struct LargeSplit {
  LargeSplit() : source(kPages * kSourcePage), scratch(4 * kPages * kScratchPage), mask(kPages, 0xFF) {
    std::memset(source.data() + 14'339 * kSourcePage, 0x11, kSourcePage);
    std::memset(source.data() + 14'341 * kSourcePage, 0x22, kSourcePage);
    args.source = {source.data(), kPages, 256, MlaRecord::e4m3_584};
    args.scratch = {scratch.data(), 4 * kPages, 64, MlaRecord::e4m3_584};
    args.indices = indices;
    args.real_rows = &rows;
    args.touched = mask.data();
    args.rows = 1, args.topk = 2;
  }

  /// Bytes of a scratch page that hold `value`.
  [[nodiscard]] std::ptrdiff_t count(std::size_t page, int value) const {
    const std::byte* at = scratch.data() + page * kScratchPage;
    return std::count(at, at + kScratchPage, static_cast<std::byte>(value));
  }

  Reservation source, scratch;
  std::vector<std::uint8_t> mask;
  std::int32_t rows = 1, indices[2] = {14'339 * 256 + 7, 14'341 * 256 + 200};
  PageSplitArgs args;
};

constexpr std::ptrdiff_t kCopied = 36'864 + 512;

}  // namespace

TEST_CASE("page_split offsets: 64-bit offsets go on where an int32 wraps") {
  CHECK(split_page_offset(57'358, 37'440, false) == 2'147'483'520);
  CHECK(split_page_offset(57'358, 37'440, true) == 2'147'483'520);
  CHECK(split_page_offset(57'359, 37'440, false) == 2'147'520'960);
  CHECK(split_page_offset(57'359, 37'440, true) == 2'147'520'960 - 4'294'967'296);
  CHECK(split_page_offset(14'339, 149'760, true) == 2'147'408'640);
  CHECK(split_page_offset(14'340, 149'760, false) == 2'147'558'400);
  CHECK(split_page_offset(14'340, 149'760, true) == 2'147'558'400 - 4'294'967'296);
  CHECK(split_page_offset(114'717, 37'440, true) == 37'184);  // past 2^32 it comes back, into page 0 itself
}

TEST_CASE("page_split offsets: pages beyond 2^31 bytes land in their place") {
  LargeSplit split;
  page_split.host(split.args);
  for (std::size_t j = 0; j < 4; ++j) {
    CHECK(split.count(4 * 14'339 + j, 0x11) == kCopied);
    CHECK(split.count(4 * 14'340 + j, 0) == static_cast<std::ptrdiff_t>(kScratchPage));
    CHECK(split.count(4 * 14'341 + j, 0x22) == kCopied);
  }
  CHECK(std::count(split.mask.begin(), split.mask.end(), 1) == 2);
  CHECK(std::count(split.mask.begin(), split.mask.end(), 0) == static_cast<std::ptrdiff_t>(kPages) - 2);
}

TEST_CASE("page_split offsets: with int32 offsets a page beyond 2^31 bytes is missing from its place") {
  LargeSplit split;
  split.args.int32_offsets = true;
  page_split.host(split.args);
  for (std::size_t j = 0; j < 3; ++j) CHECK(split.count(4 * 14'339 + j, 0x11) == kCopied);
  CHECK(split.count(57'359, 0) == static_cast<std::ptrdiff_t>(kScratchPage));  // its destination wraps
  for (std::size_t j = 0; j < 4; ++j)
    CHECK(split.count(4 * 14'341 + j, 0) == static_cast<std::ptrdiff_t>(kScratchPage));  // its source does, too
}
