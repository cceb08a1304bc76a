// The twin of the split-K decode kernel. One query row a slot, so all heads of a
// KV head attend the same tokens; places of a tile past the split's end enter as
// zeros and nothing there is read. Here the last split of a row is always the one
// that completes it.
#include <algorithm>
#include <cassert>
#include <cmath>
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
  std::int32_t splits = 0;          ///< of the row
  std::int32_t begin = 0, end = 0;  ///< tokens of the slot
};

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void fill_row(const XqaDecodeArgs& args, std::int32_t row, float value, float lse) {
  const std::int64_t first = std::int64_t{row} * args.heads, dim = args.pool.dim;
  for (std::int64_t i = 0; i < args.heads * dim; ++i)
    store_from_float(args.out, args.out_dtype, first * dim + i, value);
  std::fill_n(args.lse + first, args.heads, lse);
}

/// Merges all splits of one of the slot's heads, in their order.
void merge_head(const XqaDecodeArgs& args, const Split& split, std::int32_t head) {
  const std::int64_t first = (std::int64_t{split.slot} * args.heads + head) * args.partitions;
  const std::int64_t to = std::int64_t{split.row} * args.heads + head;
  const auto dim = static_cast<std::size_t>(args.pool.dim);
  const float* lse = args.partial_lse + first;
  float max = kNegativeInf, weights = 0;
  for (std::int32_t p = 0; p < split.splits; ++p) max = std::fmax(max, lse[p]);
  const float base = max == kNegativeInf ? 0.0f : max;
  std::vector<float> sum(dim), partial(dim);
  for (std::int32_t p = 0; p < split.splits; ++p) {
    const float weight = std::exp(lse[p] - base);
    weights += weight;
    decode_to_float(args.partials, args.partial_dtype, (first + p) * args.pool.dim, args.pool.dim, partial.data());
    for (std::size_t d = 0; d < dim; ++d) sum[d] += weight * partial[d];
  }
  for (std::size_t d = 0; d < dim; ++d)
    store_from_float(args.out, args.out_dtype, to * args.pool.dim + static_cast<std::int64_t>(d), sum[d] / weights);
  args.lse[to] = max + std::log(weights);
}

/// Whether this split was its row's last for the head.
bool count_in(const XqaDecodeArgs& args, const Split& split, std::int32_t head) {
  const std::uint32_t ticket = split_ticket(static_cast<std::uint32_t>(split.splits));
  std::int32_t& counter = args.counters[std::int64_t{split.slot} * args.heads + head];
  counter = static_cast<std::int32_t>(static_cast<std::uint32_t>(counter) + ticket);
  return static_cast<std::uint32_t>(counter) == ticket * static_cast<std::uint32_t>(split.splits);
}

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

void store_row(void* to, Dtype dtype, std::int64_t at, std::int32_t dim, const SoftmaxRow& row, float factor) {
  for (std::int32_t d = 0; d < dim; ++d) store_from_float(to, dtype, at * dim + d, row.acc[d] * factor);
}

void store_split(const XqaDecodeArgs& args, const Split& split, std::int32_t kv_head, const SlotState& state) {
  const auto ratio = static_cast<std::int32_t>(state.rows.size());
  for (std::int32_t i = 0; i < ratio; ++i) {
    const SoftmaxRow& row = state.rows[static_cast<std::size_t>(i)];
    const std::int32_t head = kv_head * ratio + i;
    const bool whole = split.splits == 1;
    // Every score -inf: a split weighs nothing in the merge, and 0 * Inf must not make it NaN there; a row is 0 / 0.
    const float factor = row.sum != 0.0f ? *args.v_scale / row.sum : whole ? kNan : 0.0f;
    if (whole) {
      const std::int64_t to = std::int64_t{split.row} * args.heads + head;
      store_row(args.out, args.out_dtype, to, args.pool.dim, row, factor);
      args.lse[to] = natural_lse(row);
      continue;
    }
    const std::int64_t to = (std::int64_t{split.slot} * args.heads + head) * args.partitions + split.partition;
    store_row(args.partials, args.partial_dtype, to, args.pool.dim, row, factor);
    args.partial_lse[to] = natural_lse(row);
    if (count_in(args, split, head)) merge_head(args, split, head);
  }
}

void decode_slot(const XqaDecodeArgs& args, std::int32_t slot, SlotState& state) {
  const std::int32_t row = args.every_row ? slot : args.slot_rows[slot], length = args.lengths[slot];
  if (row < 0) return;
  assert(row < args.batch.bucket);
  if (length < 0 || length > most_tokens(args)) return fill_row(args, row, kNan, kNan);
  const SplitRule rule{args.partitions, args.partition_tokens};
  const std::int32_t splits = rule.splits(length);
  const bool missing = splits > *args.active_partitions;
  if (missing || splits > 1) fill_row(args, row, kNan, kNan);  // until its last split is in
  if (missing) return;
  if (splits == 0) return fill_row(args, row, 0.0f, kNegativeInf);
  const std::int64_t q_elements = std::int64_t{args.heads} * args.pool.dim;
  decode_to_float(args.q, args.q_dtype, row * q_elements, q_elements, state.q.data());
  for (std::int32_t partition = 0; partition < splits; ++partition) {
    const std::int64_t tokens = rule.tokens(length), begin = partition * tokens;
    const auto end = std::min<std::int64_t>(begin + tokens, length);
    const Split split{.slot = slot,
                      .row = row,
                      .partition = partition,
                      .splits = splits,
                      .begin = static_cast<std::int32_t>(begin),
                      .end = static_cast<std::int32_t>(end)};
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
