// How a paged pool of MLA records lies in memory: one latent record a token, shared
// by all heads, addressed by its slot (page * page_size + token in the page). Three
// record formats; the 584-byte one keeps its scales in the page's footer. Every
// offset is 64-bit: page 57,359 of 37,440 bytes lies beyond 2^31.
#pragma once

#include <cstddef>
#include <cstdint>

#include "graphs/contract.hpp"

namespace refrain {

/// bf16: 576 bf16 (V is the first 512).
/// e4m3_656: 512 E4M3 | 4 fp32 scales, one a 128 values | 64 bf16 rope; V is the 512.
/// e4m3_584: 448 E4M3 | 64 bf16 rope = 576 bytes in the page's data part, and 7 ue8m0 scales, one a 64 values, + 1 pad
/// byte in its footer; V is all 512.
enum class MlaRecord : std::uint8_t { bf16, e4m3_656, e4m3_584 };

inline constexpr std::int32_t kMlaRope = 64;
inline constexpr std::int32_t kMlaValueDim = 512;
inline constexpr std::int64_t kMlaFooterBytes = 8;      ///< a token, e4m3_584
inline constexpr std::int64_t kMlaPageAlignment = 576;  ///< bytes of an e4m3_584 page are a multiple

struct MlaPoolView {
  std::byte* data = nullptr;
  std::int64_t pages = 0;
  std::int32_t page_size = 0;  ///< tokens
  MlaRecord record = MlaRecord::e4m3_656;

  /// Values that carry no position, and values of a query or key: nope + rope.
  [[nodiscard]] constexpr std::int32_t nope() const noexcept { return record == MlaRecord::e4m3_584 ? 448 : 512; }
  [[nodiscard]] constexpr std::int32_t dim() const noexcept { return nope() + kMlaRope; }
  /// Bytes of one token in the page's data part.
  [[nodiscard]] constexpr std::int64_t record_bytes() const noexcept {
    return record == MlaRecord::bf16 ? 1152 : record == MlaRecord::e4m3_656 ? 656 : 576;
  }
  /// Bytes from one page to the next: 37,440 for 64 tokens of e4m3_584, 149,760 for 256.
  [[nodiscard]] constexpr std::int64_t page_bytes() const noexcept {
    const std::int64_t data_bytes = page_size * record_bytes();
    if (record != MlaRecord::e4m3_584) return data_bytes;
    const std::int64_t used = data_bytes + page_size * kMlaFooterBytes;
    return (used + kMlaPageAlignment - 1) / kMlaPageAlignment * kMlaPageAlignment;
  }
  [[nodiscard]] constexpr std::int64_t slots() const noexcept { return pages * page_size; }
  [[nodiscard]] constexpr std::uint64_t bytes() const noexcept {
    return static_cast<std::uint64_t>(pages * page_bytes());
  }
  [[nodiscard]] constexpr std::int64_t record_offset(std::int64_t slot) const noexcept {
    return slot / page_size * page_bytes() + slot % page_size * record_bytes();
  }
  /// Of the token's 7 scales; e4m3_584 alone.
  [[nodiscard]] constexpr std::int64_t footer_offset(std::int64_t slot) const noexcept {
    return slot / page_size * page_bytes() + page_size * record_bytes() + slot % page_size * kMlaFooterBytes;
  }
};

}  // namespace refrain
