// How the twins read the batch's tables and one row's selection: how much of the
// cache the row sees, which page and which microblock hold a token, and where its
// complete blocks and its causal tail stand. It decides nothing about order or
// categories.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/batch_view.hpp"
#include "kernels/kv_pool_view.hpp"
#include "kernels/plan_grouped.hpp"

namespace refrain {

inline constexpr std::int64_t kNoMicroblock = -1;
inline constexpr std::int64_t kNoSlot = -1;

[[nodiscard]] inline std::int32_t real_rows(const BatchView& batch) {
  return std::clamp(*batch.rows, 0, batch.bucket);
}

/// Tokens that a row may see: up to its own position, and none of a request that does not exist.
[[nodiscard]] inline std::int64_t visible_tokens(const BatchView& batch, std::int32_t row) {
  const std::int32_t request = batch.token_to_req[row];
  if (request < 0 || request >= batch.requests) return 0;
  const std::int64_t length = std::max(batch.seq_len[request], 0);
  return std::clamp<std::int64_t>(batch.query_pos[row], -1, length - 1) + 1;
}

/// Of a KvPoolView or an MlaPoolView: where a request's token (>= 0) stands, page * page_size + token in the page, or
/// kNoSlot where the table has no page for it. Page 0 is no page of any request.
template <class Pool>
[[nodiscard]] std::int64_t slot_of(const BatchView& batch, const Pool& pool, std::int32_t request, std::int64_t token) {
  if (token / pool.page_size >= batch.pages_per_request) return kNoSlot;
  const std::int64_t page = batch.page_table[std::int64_t{request} * batch.pages_per_request + token / pool.page_size];
  return page >= 1 && page < pool.pages ? page * pool.page_size + token % pool.page_size : kNoSlot;
}

/// The slot that this step appends a row's token to, or kNoSlot: its request does not exist, its position lies outside
/// the request's length, or the table has no page.
template <class Pool>
[[nodiscard]] std::int64_t append_slot(const BatchView& batch, const Pool& pool, std::int32_t row) {
  const std::int32_t request = batch.token_to_req[row];
  if (request < 0 || request >= batch.requests) return kNoSlot;
  const std::int64_t token = batch.query_pos[row];
  return token >= 0 && token < batch.seq_len[request] ? slot_of(batch, pool, request, token) : kNoSlot;
}

struct RowSelection {
  const std::int32_t* blocks = nullptr;  ///< complete blocks, 4 entries each; the tail's entries follow
  std::int32_t request = 0;
  std::int64_t seq_len = 0;
  std::int64_t complete = 0;    ///< blocks
  std::int64_t tail_first = 0;  ///< the tail's first token
  std::int32_t tail = 0;        ///< tokens of an accepted tail, else 0
};

/// A selection without entries for a row whose request does not exist.
[[nodiscard]] inline RowSelection row_selection(const BatchView& batch, const std::int32_t* selected,
                                                std::int32_t row) {
  const std::int64_t visible = visible_tokens(batch, row);
  if (visible == 0) return {};
  RowSelection s;
  s.blocks = selected + std::int64_t{row} * kSelectedWidth;
  s.request = batch.token_to_req[row];
  s.seq_len = batch.seq_len[s.request];
  s.complete = std::min({visible / 4, s.seq_len / 4, std::int64_t{kSelectedBlocks}});
  s.tail_first = visible / 4 * 4;
  if (s.blocks[4 * s.complete] == s.tail_first && s.tail_first < s.seq_len)
    s.tail = static_cast<std::int32_t>(visible & 3);
  return s;
}

/// The microblock that holds `token`, or kNoMicroblock for a token or a page that does not exist.
[[nodiscard]] inline std::int64_t microblock_of(const BatchView& batch, const KvPoolView& pool, const RowSelection& s,
                                                std::int64_t token) {
  if (token < 0 || token >= s.seq_len) return kNoMicroblock;
  const std::int64_t slot = slot_of(batch, pool, s.request, token);
  if (slot == kNoSlot) return kNoMicroblock;
  return slot / pool.page_size * pool.page_stride4() + slot % pool.page_size / 4;
}

/// The block's four entries are one whole microblock.
[[nodiscard]] inline bool is_aligned_block(const std::int32_t* block) {
  return block[0] >= 0 && block[0] % 4 == 0 && block[0] <= INT32_MAX - 3 && block[1] == block[0] + 1 &&
         block[2] == block[0] + 2 && block[3] == block[0] + 3;
}

}  // namespace refrain
