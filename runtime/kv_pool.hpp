// The paged KV pool: one lease, pages handed out by number, page 0 kept back as
// the null block that no request ever owns. What the pages hold is the ops' affair.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kv_pool_view.hpp"
#include "runtime/arena.hpp"

namespace refrain {

inline constexpr std::int32_t kNullBlock = 0;

class KvPool {
 public:
  /// `shape.data` is set here. Throws Error{refused} when the arena is full.
  KvPool(Arena& arena, KvPoolView shape);

  [[nodiscard]] const KvPoolView& view() const noexcept { return view_; }
  [[nodiscard]] const Lease& lease() const noexcept { return lease_; }

  /// The lowest free page, never 0. Throws Error{refused} when none is left.
  [[nodiscard]] std::int32_t take_page();
  /// Asserts that the page was taken.
  void give_back(std::int32_t page);
  [[nodiscard]] std::int64_t pages_free() const noexcept { return free_count_; }
  [[nodiscard]] bool taken(std::int32_t page) const noexcept { return taken_[static_cast<std::size_t>(page)]; }

 private:
  KvPoolView view_;
  Lease lease_;
  std::vector<bool> taken_;
  std::int64_t free_count_ = 0;
  std::size_t search_from_ = 1;
};

}  // namespace refrain
