#include "runtime/kv_pool.hpp"

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
      pages_(shape.pages) {
  view_.data = lease_.as<std::byte>();
}

}  // namespace refrain
