// Division of tokens by a page size that is known when a kernel is launched, without
// dividing: a device divides in a score of instructions, and this is two.
#pragma once

#include <cassert>
#include <cstdint>

namespace refrain {

class PageDivision {
 public:
  /// 2 <= page_size.
  constexpr explicit PageDivision(std::int32_t page_size) noexcept {
    assert(page_size >= 2);
    while (std::int64_t{2} << shift_ < page_size) ++shift_;
    factor_ =
        static_cast<std::uint32_t>(((std::uint64_t{1} << (32 + shift_)) - 1) / static_cast<std::uint64_t>(page_size)) +
        1;
  }
  /// token / page_size, token >= 0; of a token below 0 some number.
  [[nodiscard]] constexpr std::int32_t operator()(std::int32_t token) const noexcept {
    const std::uint64_t product = std::uint64_t{static_cast<std::uint32_t>(token)} * factor_;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(product >> 32) >> shift_);
  }

 private:
  // 2^(32 + shift) over the page size, rounded up, 2^shift < page_size <= 2^(shift + 1). It is too large by less than
  // 1, so a token's product by less than 2^31 <= 2^(32 + shift) / page_size, too little to reach the next page.
  std::uint32_t factor_ = 0;
  int shift_ = 0;
};

}  // namespace refrain
