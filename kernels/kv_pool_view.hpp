// How the paged KV pool lies in memory: [pages, 2 (K, V), page_size, kv_heads,
// dim] row-major, K and V interleaved by page. Page 0 is the null block: no
// request owns it. A microblock is 4 consecutive tokens of one plane, aligned
// to 4; its id is page * page_stride4 + offset_in_page / 4, so id 0 is the null
// block's first. All offsets are 64-bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graphs/contract.hpp"

namespace refrain {

struct KvPoolView {
  std::byte* data = nullptr;
  std::int64_t pages = 0;
  std::int32_t page_size = 0;  ///< tokens; a multiple of 4
  std::int32_t kv_heads = 0;
  std::int32_t dim = 0;
  Dtype dtype = Dtype::e4m3;  ///< fp16, bf16 or e4m3

  /// Elements from one page to the next, and from a page's K plane to its V plane.
  [[nodiscard]] constexpr std::int64_t plane_elements() const noexcept {
    return std::int64_t{page_size} * kv_heads * dim;
  }
  [[nodiscard]] constexpr std::int64_t page_elements() const noexcept { return 2 * plane_elements(); }
  [[nodiscard]] constexpr std::int64_t elements() const noexcept { return pages * page_elements(); }
  [[nodiscard]] constexpr std::uint64_t page_bytes() const noexcept {
    return static_cast<std::uint64_t>(page_elements()) * dtype_bytes(dtype);
  }
  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
    return static_cast<std::uint64_t>(pages) * page_bytes();
  }

  /// Element offset of a token's K row; its V row is plane_elements() further.
  [[nodiscard]] constexpr std::int64_t k_offset(std::int64_t page, std::int32_t token_in_page,
                                                std::int32_t kv_head) const noexcept {
    return page * page_elements() + (std::int64_t{token_in_page} * kv_heads + kv_head) * dim;
  }

  /// Element offset of all K rows of a slot, which is page * page_size + token in the page.
  [[nodiscard]] constexpr std::int64_t slot_offset(std::int64_t slot) const noexcept {
    return k_offset(slot / page_size, static_cast<std::int32_t>(slot % page_size), 0);
  }

  /// Microblocks from one page to the next (twice page_size / 4: K and V are interleaved). Needs kv_heads == 1.
  [[nodiscard]] constexpr std::int64_t page_stride4() const noexcept { return 2 * std::int64_t{page_size} / 4; }
  /// Element offset of a microblock's first K row.
  [[nodiscard]] constexpr std::int64_t microblock_offset(std::int64_t id) const noexcept { return id * 4 * dim; }
};

}  // namespace refrain
