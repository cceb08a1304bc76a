// The twin of the split-K decode kernel. One query row a slot, so all heads of a
// KV head attend the same tokens; places of a tile past the split's end enter as
// zeros and nothing there is read.
#include <algorithm>
#include <cassert>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/host_tile.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/xqa_decode.hpp"

namespace refrain {
namespace {

/// Element offset of the K row of a slot's token `t`, below the slot's length.
std::int64_t k_offset_of(const XqaDecodeArgs& args, std::int32_t slot, std::int32_t row, std::int32_t t,
                         std::int32_t kv_head) {
  const KvPoolView& pool = args.pool;
  if (args.keys != nullptr) {
    const std::int64_t key = args.keys[std::int64_t{slot} * kXqaSlots + t / kMicroblockTokens];
    assert(key != kInvalidKey && (key & kKeyMicroblockMask) < pool.pages * pool.page_stride4());
    return pool.microblock_offset(key & kKeyMicroblockMask) + std::int64_t{t % kMicroblockTokens} * pool.dim;
  }
  const std::int32_t request = args.batch.token_to_req[row];
  assert(request >= 0 && request < args.batch.requests);
  assert(t / pool.page_size < args.batch.pages_per_request);
  const std::int64_t page =
      args.batch.page_table[std::int64_t{request} * args.batch.pages_per_request + t / pool.page_size];
  assert(page >= 1 && page < pool.pages);
  return pool.k_offset(page, t % pool.page_size, kv_head);
}

/// One slot's work area: its query row and the accumulators of one KV head's query heads.
struct SlotState {
  SlotState(std::int32_t heads, std::int32_t ratio, std::int32_t dim)
      : tile(dim),
        q(static_cast<std::size_t>(heads) * static_cast<std::size_t>(dim)),
        acc(static_cast<std::size_t>(ratio) * static_cast<std::size_t>(dim)),
        rows(static_cast<std::size_t>(ratio)) {
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].acc = acc.data() + i * static_cast<std::size_t>(dim);
  }

  void begin_split() {
    std::fill(acc.begin(), acc.end(), 0.0f);
    for (SoftmaxRow& row : rows) row = {.acc = row.acc};
  }

  HostTile tile;
  std::vector<float> q, acc;
  std::vector<SoftmaxRow> rows;
};

struct Split {
  std::int32_t slot = 0, row = 0, partition = 0;
  std::int32_t begin = 0, end = 0;  ///< tokens of the slot
};

void attend_split(const XqaDecodeArgs& args, const Split& split, std::int32_t kv_head, SlotState& state) {
  const float scale = args.softmax_scale * *args.k_scale;
  const auto ratio = static_cast<std::int32_t>(state.rows.size());
  float p[kTileTokens];
  state.begin_split();
  for (std::int32_t first = split.begin; first < split.end; first += kTileTokens) {
    const std::int32_t count = std::min(kTileTokens, split.end - first);
    for (std::int32_t r = 0; r < count; ++r)
      state.tile.load(r, args.pool, k_offset_of(args, split.slot, split.row, first + r, kv_head));
    for (std::int32_t r = count; r < kTileTokens; ++r) state.tile.clear(r);
    const std::uint32_t attended = count == kTileTokens ? ~0u : (1u << count) - 1u;
    for (std::int32_t i = 0; i < ratio; ++i) {
      SoftmaxRow& row = state.rows[static_cast<std::size_t>(i)];
      const float* q = state.q.data() + std::int64_t{kv_head * ratio + i} * args.pool.dim;
      softmax_tile(row, q, state.tile, scale, attended, args.q_dtype, p);
      accumulate_tile(row, state.tile, p);
    }
  }
}

void store_split(const XqaDecodeArgs& args, const Split& split, std::int32_t kv_head, const SlotState& state) {
  const auto ratio = static_cast<std::int32_t>(state.rows.size());
  for (std::int32_t i = 0; i < ratio; ++i) {
    const SoftmaxRow& row = state.rows[static_cast<std::size_t>(i)];
    const std::int64_t head = std::int64_t{split.slot} * args.heads + kv_head * ratio + i;
    const std::int64_t at = head * args.partitions + split.partition;
    // Every score -inf: this split weighs nothing in the merge, and 0 * Inf must not make it NaN there.
    const float factor = row.sum == 0.0f ? 0.0f : *args.v_scale / row.sum;
    for (std::int32_t d = 0; d < args.pool.dim; ++d)
      store_from_float(args.partials, args.partial_dtype, at * args.pool.dim + d, row.acc[d] * factor);
    args.partial_lse[at] = natural_lse(row);
    args.counters[head] += 1;
  }
}

void decode_slot(const XqaDecodeArgs& args, std::int32_t slot, SlotState& state) {
  const std::int32_t row = args.slot_rows[slot], length = args.lengths[slot];
  const std::int64_t splits = std::int64_t{args.heads} * args.partitions;
  std::fill_n(args.partial_lse + slot * splits, splits, -std::numeric_limits<float>::infinity());
  if (row < 0 || length <= 0) return;
  assert(row < args.batch.bucket);
  const std::int64_t q_elements = std::int64_t{args.heads} * args.pool.dim;
  decode_to_float(args.q, args.q_dtype, row * q_elements, q_elements, state.q.data());
  const std::int32_t partitions = std::min(args.partitions, *args.active_partitions);
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    const std::int64_t begin = std::int64_t{partition} * args.partition_tokens;
    if (begin >= length) break;
    const auto end = std::min<std::int64_t>(begin + args.partition_tokens, length);
    const Split split{slot, row, partition, static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
    for (std::int32_t kv_head = 0; kv_head < args.pool.kv_heads; ++kv_head) {
      attend_split(args, split, kv_head, state);
      store_split(args, split, kv_head, state);
    }
  }
}

}  // namespace

void xqa_decode_host(const XqaDecodeArgs& args) {
  SlotState state(args.heads, args.heads / args.pool.kv_heads, args.pool.dim);
  for (std::int32_t slot = 0; slot < args.slots; ++slot) decode_slot(args, slot, state);
}

}  // namespace refrain
