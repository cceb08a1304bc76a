// Which pages of a KV pool are taken, by number alone: no memory, no device. Page 0 is
// the null block, which no request ever owns and which is never handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace refrain {

inline constexpr std::int32_t kNullBlock = 0;

class PageAllocator {
 public:
  /// `pages`: of the pool, the null block among them; at least 1.
  explicit PageAllocator(std::int64_t pages);

  /// The lowest free page, never 0. Throws Error{refused} when none is left.
  [[nodiscard]] std::int32_t take();
  /// Asserts that the page was taken.
  void give_back(std::int32_t page);
  [[nodiscard]] std::int64_t free() const noexcept { return free_count_; }
  /// Pages that may be taken at all.
  [[nodiscard]] std::int64_t total() const noexcept { return static_cast<std::int64_t>(taken_.size()) - 1; }
  [[nodiscard]] bool taken(std::int32_t page) const noexcept { return taken_[static_cast<std::size_t>(page)]; }

 private:
  std::vector<bool> taken_;
  std::int64_t free_count_;
  std::size_t search_from_ = 1;
};

}  // namespace refrain
