// The paged KV pool: one lease, whose pages are handed out by number. What the pages
// hold is the ops' affair, and who gets them is the allocator's.
#pragma once

#include "kernels/kv_pool_view.hpp"
#include "runtime/arena.hpp"
#include "runtime/page_allocator.hpp"

namespace refrain {

class KvPool {
 public:
  /// `shape.data` is set here. Throws Error{refused} when the arena is full.
  KvPool(Arena& arena, KvPoolView shape);

  [[nodiscard]] const KvPoolView& view() const noexcept { return view_; }
  [[nodiscard]] const Lease& lease() const noexcept { return lease_; }
  [[nodiscard]] PageAllocator& pages() noexcept { return pages_; }
  [[nodiscard]] const PageAllocator& pages() const noexcept { return pages_; }

 private:
  KvPoolView view_;
  Lease lease_;
  PageAllocator pages_;
};

}  // namespace refrain
