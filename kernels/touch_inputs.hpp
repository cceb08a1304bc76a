// Contract entries that several ops share: the batch's tables, the KV pool and
// the per-layer scales. It states what is read, nothing about when.
#pragma once

#include <cassert>
#include <cstdint>

#include "kernels/batch_view.hpp"
#include "kernels/kv_pool_view.hpp"
#include "kernels/op.hpp"

namespace refrain {

[[nodiscard]] constexpr std::uint64_t elements(std::int64_t a, std::int64_t b = 1, std::int64_t c = 1,
                                               std::int64_t d = 1) noexcept {
  return static_cast<std::uint64_t>(a * b * c * d);
}

inline Access read_input(const void* data, std::uint64_t count, Dtype dtype) {
  return touch(static_cast<const std::byte*>(data), count, Mode::read, Role::input, dtype);
}

/// Rows, requests, positions and lengths; the page table where the op looks pages up.
inline void touch_batch(Contract& contract, const BatchView& batch, bool with_page_table) {
  const auto bucket = elements(batch.bucket), requests = elements(batch.requests);
  contract.accesses.push_back(read_input(batch.rows, 1, Dtype::i32));
  contract.accesses.push_back(read_input(batch.token_to_req, bucket, Dtype::i32));
  contract.accesses.push_back(read_input(batch.query_pos, bucket, Dtype::i64));
  contract.accesses.push_back(read_input(batch.seq_len, requests, Dtype::i32));
  if (with_page_table)
    contract.accesses.push_back(
        read_input(batch.page_table, elements(batch.requests, batch.pages_per_request), Dtype::i32));
}

/// Which pages are read stands in a table in memory, so the whole pool may be.
inline Access read_pool(const KvPoolView& pool) {
  return touch(pool.data, elements(pool.elements()), Mode::read, Role::kv_pool, pool.dtype, Reach::may);
}

/// Some tokens of earlier steps, ahead of the wait of an early launch.
inline Access read_settled(const KvPoolView& pool) {
  Access access = read_pool(pool);
  access.before_wait = true;
  access.tokens = CacheTokens::settled;
  return access;
}

/// Which pages are appended to stands in a table in memory. Pages [1, pages): the null block is outside the range, not
/// merely unlikely.
inline Access append_to_pool(const KvPoolView& pool) {
  Access access = touch(pool.data, elements(pool.elements()), Mode::write, Role::kv_pool, pool.dtype, Reach::may);
  access.range.begin = pool.page_bytes();
  access.tokens = CacheTokens::appended;
  return access;
}

inline void touch_scales(Contract& contract, const float* k_scale, const float* v_scale) {
  contract.accesses.push_back(touch(k_scale, 1, Mode::read, Role::weights, Dtype::fp32));
  contract.accesses.push_back(touch(v_scale, 1, Mode::read, Role::weights, Dtype::fp32));
}

inline void assert_pool_shape([[maybe_unused]] const KvPoolView& pool) {
  assert(pool.pages > 0 && pool.page_size > 0 && pool.page_size % 4 == 0 && pool.kv_heads > 0 && pool.dim > 0);
  assert(pool.dtype == Dtype::fp16 || pool.dtype == Dtype::bf16 || pool.dtype == Dtype::e4m3);
}

/// Microblock ids must fit the keys' 30 bits, and a microblock is contiguous only with one KV head.
inline void assert_microblocks([[maybe_unused]] const KvPoolView& pool) {
  assert_pool_shape(pool);
  assert(pool.kv_heads == 1);
  assert(pool.pages * pool.page_stride4() <= std::int64_t{1} << 30);
}

}  // namespace refrain
