// The twin of the grouped kernel: 48 rows (8 queries x 6 heads) by 32 tokens, in
// M tiles of 16 rows. A whole M tile multiplies as soon as one of its queries
// attends something in the tile, with p = 0 for the others, because that is what
// the MMA does; so NaN spreads here exactly as far as it does there.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/grouped_attention.hpp"
#include "kernels/host_tile.hpp"
#include "kernels/host_twins.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kTileRows = kGroupRows * kGroupedHeads;
constexpr std::int32_t kMTileRows = 16;

/// One K/V tile and the non-finite V elements that were taken out of it.
struct GroupTile {
  explicit GroupTile(std::int32_t dim) : tile(dim), contained(static_cast<std::size_t>(dim) * kTileTokens) {}

  HostTile tile;
  std::vector<float> contained;                      ///< [32, dim]: the element that the tile holds as 0, else 0
  std::uint32_t contained_rows = 0;                  ///< bit r: row r has such an element
  std::uint32_t m_tiles = 0;                         ///< M tiles with an attending query
  std::array<std::uint32_t, kGroupRows> attended{};  ///< per query: bit r set iff it attends row r
};

class GroupState {
 public:
  GroupState(const GroupedAttentionArgs& args, std::int32_t group)
      : dim_(args.pool.dim), q_(static_cast<std::size_t>(kTileRows) * static_cast<std::size_t>(dim_)), acc_(q_.size()) {
    const std::int64_t first = std::int64_t{group} * kTileRows * dim_;
    decode_to_float(args.q, args.q_dtype, first, std::int64_t{kTileRows} * dim_, q_.data());
    for (std::int32_t row = 0; row < kTileRows; ++row) rows[row].acc = acc_.data() + std::int64_t{row} * dim_;
  }

  [[nodiscard]] const float* q(std::int32_t row) const { return q_.data() + std::int64_t{row} * dim_; }

  std::array<SoftmaxRow, kTileRows> rows;
  std::uint32_t attending = 0;  ///< bit q: query q attended something so far

 private:
  std::int32_t dim_;
  std::vector<float> q_, acc_;
};

/// Non-finite V of row `r` enters the products as 0; `contained` keeps it for the queries that attend it.
void contain_row(GroupTile& t, std::int32_t r) {
  const std::int32_t dim = t.tile.dim();
  float* v = t.tile.v_row(r);
  if (std::all_of(v, v + dim, [](float value) { return std::isfinite(value); })) return;
  float* kept = t.contained.data() + std::int64_t{r} * dim;
  for (std::int32_t d = 0; d < dim; ++d) {
    kept[d] = std::isfinite(v[d]) ? 0.0f : v[d];
    if (!std::isfinite(v[d])) v[d] = 0.0f;
  }
  t.contained_rows |= 1u << r;
}

void load_tile(const GroupedAttentionArgs& args, const std::int32_t* blocks, const std::uint32_t* masks, GroupTile& t) {
  t.contained_rows = t.m_tiles = 0;
  t.attended = {};
  for (std::int32_t i = 0; i < kTileMicroblocks; ++i) {
    t.m_tiles |= category_of_mask(masks[i]);
    for (std::int32_t query = 0; query < kGroupRows; ++query)
      t.attended[static_cast<std::size_t>(query)] |= (masks[i] >> (4 * query) & 0xFu) << (4 * i);
  }
  for (std::int32_t r = 0; r < kTileTokens; ++r) {
    const bool attended = (masks[r >> 2] & 0x11111111u << (r & 3)) != 0;
    if (args.zero_unattended && !attended) {
      t.tile.clear(r);
      continue;
    }
    assert(blocks[r >> 2] >= 0 && blocks[r >> 2] < args.pool.pages * args.pool.page_stride4());
    t.tile.load(r, args.pool, args.pool.microblock_offset(blocks[r >> 2]) + std::int64_t{r & 3} * args.pool.dim);
    if (args.zero_unattended) contain_row(t, r);
  }
}

void add_contained(const GroupTile& t, std::uint32_t attended, const float* p, float* acc) {
  const std::int32_t dim = t.tile.dim();
  for (std::int32_t r = 0; r < kTileTokens; ++r) {
    if ((attended & t.contained_rows) >> r & 1u) {
      const float* kept = t.contained.data() + std::int64_t{r} * dim;
      for (std::int32_t d = 0; d < dim; ++d)
        if (kept[d] != 0.0f) acc[d] += p[r] * kept[d];
    }
  }
}

void attend_tile(const GroupedAttentionArgs& args, const GroupTile& t, GroupState& state) {
  const float scale = args.softmax_scale * *args.k_scale;
  float p[kTileTokens];
  for (std::int32_t row = 0; row < kTileRows; ++row) {
    if ((t.m_tiles >> (row / kMTileRows) & 1u) == 0) continue;
    const std::uint32_t attended = t.attended[static_cast<std::size_t>(row / kGroupedHeads)];
    SoftmaxRow& out = state.rows[static_cast<std::size_t>(row)];
    softmax_tile(out, state.q(row), t.tile, scale, attended, args.q_dtype, p);
    accumulate_tile(out, t.tile, p);
    if ((attended & t.contained_rows) != 0) add_contained(t, attended, p, out.acc);
  }
  for (std::int32_t query = 0; query < kGroupRows; ++query)
    if (t.attended[static_cast<std::size_t>(query)] != 0) state.attending |= 1u << query;
}

/// A row that attended nothing is 0 by predicate unless its accumulator shows that it was hurt: with the
/// protection off that NaN must come out as it does from the kernel, whose factor is then 0.
void store_rows(const GroupedAttentionArgs& args, std::int32_t group, const GroupState& state) {
  const std::int32_t dim = args.pool.dim;
  for (std::int32_t row = 0; row < kTileRows; ++row) {
    const SoftmaxRow& in = state.rows[static_cast<std::size_t>(row)];
    const bool attending = (state.attending >> (row / kGroupedHeads) & 1u) != 0;
    const float factor = attending ? *args.v_scale / in.sum : 0.0f;
    const std::int64_t at = std::int64_t{group} * kTileRows + row;
    // + 0 turns -0 into +0, so that the sign of an unattended V element can't show in a zero.
    for (std::int32_t d = 0; d < dim; ++d)
      store_from_float(args.out, args.q_dtype, at * dim + d, in.acc[d] * factor + 0.0f);
    args.lse[at] = attending ? natural_lse(in) : -std::numeric_limits<float>::infinity();
  }
}

void store_empty_rows(const GroupedAttentionArgs& args, std::int32_t group) {
  const std::int64_t first = std::int64_t{group} * kTileRows;
  const std::int64_t last = std::min(first + kTileRows, std::int64_t{args.bucket} * kGroupedHeads);
  for (std::int64_t at = first; at < last; ++at) {
    for (std::int64_t d = 0; d < args.pool.dim; ++d)
      store_from_float(args.out, args.q_dtype, at * args.pool.dim + d, 0);
    args.lse[at] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

void grouped_attention_host(const GroupedAttentionArgs& args) {
  GroupTile tile(args.pool.dim);
  for (std::int32_t group = 0; group < args.groups; ++group) {
    const std::int32_t tiles = args.tokens[group] / kTileTokens;
    assert(args.tokens[group] % kTileTokens == 0 && tiles >= 0 && tiles <= kGroupedWidth / kTileMicroblocks);
    if (tiles == 0) {
      store_empty_rows(args, group);
      continue;
    }
    assert((group + 1) * kGroupRows <= args.bucket);
    GroupState state(args, group);
    for (std::int32_t i = 0; i < tiles; ++i) {
      const std::int64_t at = std::int64_t{group} * kGroupedWidth + std::int64_t{i} * kTileMicroblocks;
      load_tile(args, args.microblocks + at, args.masks + at, tile);
      attend_tile(args, tile, state);
    }
    store_rows(args, group, state);
  }
}

}  // namespace refrain
