#include "runtime/page_allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "graphs/error.hpp"

namespace refrain {

PageAllocator::PageAllocator(std::int64_t pages)
    : taken_(static_cast<std::size_t>(pages), false), free_count_(pages - 1) {
  assert(pages >= 1);
  taken_[kNullBlock] = true;
}

std::int32_t PageAllocator::take() {
  while (search_from_ < taken_.size() && taken_[search_from_]) ++search_from_;
  if (search_from_ >= taken_.size())
    throw Error(ErrorKind::refused, "taking a KV page",
                fmt::format("all {} pages are taken; finish requests or make the pool larger", total()), "kv pool");
  taken_[search_from_] = true;
  --free_count_;
  return static_cast<std::int32_t>(search_from_);
}

void PageAllocator::give_back(std::int32_t page) {
  const auto at = static_cast<std::size_t>(page);
  assert(page != kNullBlock && taken_.at(at));
  taken_[at] = false;
  ++free_count_;
  search_from_ = std::min(search_from_, at);
}

}  // namespace refrain
