#include "runtime/kv_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace refrain {
namespace {

ByteRange null_block_of(const KvPoolView& shape) {
  return {static_cast<std::uint64_t>(kNullBlock) * shape.page_bytes(),
          static_cast<std::uint64_t>(kNullBlock + 1) * shape.page_bytes()};
}

}  // namespace

KvPool::KvPool(Arena& arena, KvPoolView shape)
    : view_(shape),
      lease_(arena.lease({"kv_pool", shape.bytes(), Role::kv_pool, shape.dtype, null_block_of(shape)})),
      taken_(static_cast<std::size_t>(shape.pages), false),
      free_count_(shape.pages - 1) {
  view_.data = lease_.as<std::byte>();
  taken_[kNullBlock] = true;
}

std::int32_t KvPool::take_page() {
  while (search_from_ < taken_.size() && taken_[search_from_]) ++search_from_;
  if (search_from_ >= taken_.size())
    throw Error(ErrorKind::refused, "taking a KV page",
                fmt::format("all {} pages are taken; finish requests or make the pool larger", view_.pages - 1),
                "kv pool");
  taken_[search_from_] = true;
  --free_count_;
  return static_cast<std::int32_t>(search_from_);
}

void KvPool::give_back(std::int32_t page) {
  const auto at = static_cast<std::size_t>(page);
  assert(page != kNullBlock && taken_.at(at));
  taken_[at] = false;
  ++free_count_;
  search_from_ = std::min(search_from_, at);
}

}  // namespace refrain
