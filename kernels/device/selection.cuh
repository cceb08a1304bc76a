// How the kernels read the batch's tables and one row's selection: the device's
// half of kernels/host_selection.hpp, line for line the same rules. It decides
// nothing about order or categories.
#pragma once

#include <cstdint>

#include "kernels/batch_view.hpp"
#include "kernels/kv_pool_view.hpp"
#include "kernels/plan_grouped.hpp"

namespace refrain::device {

inline constexpr std::int64_t kNone = -1;

[[nodiscard]] __device__ inline std::int32_t real_rows(const BatchView& batch) {
  return max(0, min(*batch.rows, batch.bucket));
}

[[nodiscard]] __device__ inline bool is_request(const BatchView& batch, std::int32_t request) {
  return request >= 0 && request < batch.requests;
}

/// Tokens up to a row's own position, of a request of `length`.
[[nodiscard]] __device__ inline std::int64_t visible_of(std::int64_t position, std::int32_t length) {
  return min(max(position, std::int64_t{-1}), std::int64_t{max(length, 0)} - 1) + 1;
}

/// Tokens that a row may see: up to its own position, and none of a request that does not exist.
[[nodiscard]] __device__ inline std::int64_t visible_tokens(const BatchView& batch, std::int32_t row) {
  // Both at once, for each is a trip to memory and the length behind them is another.
  const std::int32_t request = batch.token_to_req[row];
  const std::int64_t position = batch.query_pos[row];
  return is_request(batch, request) ? visible_of(position, batch.seq_len[request]) : 0;
}

/// The table's entry for page `index` (>= 0) of a request, whatever it says; past the table's end 0, which is no page
/// of any request.
[[nodiscard]] __device__ inline std::int32_t page_entry(const BatchView& batch, std::int32_t request,
                                                        std::int64_t index) {
  return index < batch.pages_per_request ? batch.page_table[std::int64_t{request} * batch.pages_per_request + index]
                                         : 0;
}

/// Of a KvPoolView or an MlaPoolView: the page of a request's token (>= 0), or kNone where the table has none. Divided
/// as the token's own type: 64 bits take several times as long.
template <class Pool, class Token>
[[nodiscard]] __device__ std::int64_t page_of(const BatchView& batch, const Pool& pool, std::int32_t request,
                                              Token token) {
  const std::int64_t page = page_entry(batch, request, token / pool.page_size);
  return page >= 1 && page < pool.pages ? page : kNone;
}

/// Where the token stands, page * page_size + token in the page, or kNone.
template <class Pool>
[[nodiscard]] __device__ std::int64_t slot_of(const BatchView& batch, const Pool& pool, std::int32_t request,
                                              std::int64_t token) {
  const std::int64_t page = page_of(batch, pool, request, token);
  return page == kNone ? kNone : page * pool.page_size + token % pool.page_size;
}

/// The slot that this step appends a row's token to, or kNone: its request does not exist, its position lies outside
/// the request's length, or the table has no page. Past the L1, which nothing has cleaned where a kernel asks before
/// its wait, and in two trips to memory.
template <class Pool>
[[nodiscard]] __device__ std::int64_t append_slot(const BatchView& batch, const Pool& pool, std::int32_t row) {
  const std::int32_t request = __ldcg(batch.token_to_req + row);
  const std::int64_t token = __ldcg(reinterpret_cast<const long long*>(batch.query_pos) + row);
  const std::int64_t index = token / pool.page_size;
  if (!is_request(batch, request) || token < 0 || index >= batch.pages_per_request) return kNone;
  const std::int32_t length = __ldcg(batch.seq_len + request);
  const std::int32_t page = __ldcg(batch.page_table + std::int64_t{request} * batch.pages_per_request + index);
  return token < length && page >= 1 && page < pool.pages ? page * std::int64_t{pool.page_size} + token % pool.page_size
                                                          : kNone;
}

/// Without initialisers, so that it may stand in shared memory; RowSelection{} is a selection without entries.
struct RowSelection {
  const std::int32_t* blocks;  ///< complete blocks, 4 entries each; the tail's entries follow
  std::int32_t request;
  std::int32_t seq_len;
  std::int32_t complete;    ///< blocks
  std::int32_t tail_first;  ///< the tail's first token
  std::int32_t tail;        ///< tokens of an accepted tail, else 0

  /// Drops the tail unless the selection names it; `named` is its entry behind the complete blocks.
  __device__ void accept_tail(std::int32_t named) {
    if (tail_first >= seq_len || named != tail_first) tail = 0;
  }
  __device__ void accept_tail() {
    if (tail != 0) accept_tail(blocks[4 * complete]);
  }
};

/// The selection of a row at `position` of a request of `length`, whose tail is still to be accepted. Without entries
/// where the length is 0.
[[nodiscard]] __device__ inline RowSelection row_blocks(const std::int32_t* selected, std::int32_t row,
                                                        std::int32_t request, std::int64_t position,
                                                        std::int32_t length) {
  RowSelection s{};
  const auto visible = static_cast<std::int32_t>(visible_of(position, length));
  if (visible == 0) return s;
  s.blocks = selected + std::int64_t{row} * kSelectedWidth;
  s.request = request;
  s.seq_len = length;
  s.complete = min(min(visible / 4, s.seq_len / 4), kSelectedBlocks);
  s.tail_first = visible / 4 * 4;
  s.tail = visible & 3;
  return s;
}

/// A selection without entries for a row whose request does not exist.
[[nodiscard]] __device__ inline RowSelection row_selection(const BatchView& batch, const std::int32_t* selected,
                                                           std::int32_t row) {
  const std::int32_t request = batch.token_to_req[row];
  const std::int64_t position = batch.query_pos[row];
  RowSelection s =
      row_blocks(selected, row, request, position, is_request(batch, request) ? batch.seq_len[request] : 0);
  s.accept_tail();
  return s;
}

/// The microblock that holds `token`, or kNone for a token or a page that does not exist.
[[nodiscard]] __device__ inline std::int64_t microblock_of(const BatchView& batch, const KvPoolView& pool,
                                                           const RowSelection& s, std::int32_t token) {
  if (token < 0 || token >= s.seq_len) return kNone;
  const std::int64_t page = page_of(batch, pool, s.request, token);
  return page == kNone ? kNone : page * pool.page_stride4() + token % pool.page_size / 4;
}

/// The four entries are one whole microblock.
[[nodiscard]] __device__ inline bool is_aligned_block(const std::int32_t (&block)[4]) {
  return block[0] >= 0 && block[0] % 4 == 0 && block[0] <= INT32_MAX - 3 && block[1] == block[0] + 1 &&
         block[2] == block[0] + 2 && block[3] == block[0] + 3;
}

/// Bits that hold token / 4 of every token that a page table can name; at most 29, for a token is an int32.
[[nodiscard]] inline int token_block_bits(const BatchView& batch, const KvPoolView& pool) {
  const std::int64_t blocks = std::int64_t{batch.pages_per_request} * pool.page_size / kMicroblockTokens;
  int bits = 1;
  while (bits < 29 && std::int64_t{1} << bits < blocks) ++bits;
  return bits;
}

}  // namespace refrain::device
