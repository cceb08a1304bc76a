#include "bench/grouped_routes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "kernels/device_code.hpp"
#include "kernels/grouped_attention_kernels.hpp"

namespace refrain::bench {
namespace {

constexpr std::int32_t kPage = 32;

std::vector<std::int32_t> random_selection(const Case& c) {
  std::mt19937 rng(1);
  std::vector<std::int32_t> out(static_cast<std::size_t>(c.rows) * kSelectedWidth, -1);
  for (std::int32_t row = 0; row < c.rows; ++row) {
    const std::int32_t visible = kContext - c.rows + row + 1;
    std::vector<std::int32_t> blocks(static_cast<std::size_t>(visible / 4));
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), rng);
    blocks.resize(std::min<std::size_t>(blocks.size(), kSelectedBlocks));
    auto at = out.begin() + std::int64_t{row} * kSelectedWidth;
    for (const std::int32_t block : blocks)
      for (std::int32_t i = 0; i < 4; ++i) *at++ = 4 * block + i;
    for (std::int32_t token = visible / 4 * 4; token < visible; ++token) *at++ = token;
  }
  return out;
}

BatchView make_batch(const Case& c, DeviceArrays& arrays) {
  std::vector<std::int32_t> pages(kContext / kPage);
  std::iota(pages.begin(), pages.end(), 1);
  std::mt19937 rng(2);
  std::shuffle(pages.begin(), pages.end(), rng);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(c.rows));
  std::iota(positions.begin(), positions.end(), kContext - c.rows);
  return {.rows = arrays.put(std::vector<std::int32_t>{c.rows}),
          .token_to_req = arrays.put(std::vector<std::int32_t>(positions.size(), 0)),
          .query_pos = arrays.put(positions),
          .seq_len = arrays.put(std::vector<std::int32_t>{kContext}),
          .page_table = arrays.put(pages),
          .bucket = c.rows,
          .requests = 1,
          .pages_per_request = kContext / kPage};
}

void make_grouped(const Case& c, DeviceArrays& arrays, const std::uint16_t* q, const float* scale, Routes& r) {
  const std::int32_t groups = (c.rows + kGroupRows - 1) / kGroupRows;
  const std::int64_t columns = std::int64_t{groups} * kGroupedWidth, rows = std::int64_t{c.rows} * kHeads;
  r.plan.microblocks = arrays.take<std::int32_t>(columns);
  r.plan.masks = arrays.take<std::uint32_t>(columns);
  r.plan.tokens = arrays.take<std::int32_t>(groups);
  r.plan.groups = groups;
  r.plan.fix_padding = true;
  r.fix = {.microblocks = r.plan.microblocks, .masks = r.plan.masks, .groups = groups, .width = kGroupedWidth};
  r.attention = {.q = q,
                 .pool = r.plan.pool,
                 .microblocks = r.plan.microblocks,
                 .masks = r.plan.masks,
                 .tokens = r.plan.tokens,
                 .k_scale = scale,
                 .v_scale = scale,
                 .softmax_scale = 1.0f / std::sqrt(static_cast<float>(kDim)),
                 .bucket = c.rows,
                 .groups = groups,
                 .out = arrays.take<std::uint16_t>(rows * kDim),
                 .lse = arrays.take<float>(rows)};
}

/// Splits so that two to four blocks a multiprocessor exist, none under 64 tokens.
void make_xqa(const Case& c, DeviceArrays& arrays, Routes& r) {
  const std::int32_t wanted = std::max(1, 4 * kMultiprocessors / c.rows);
  const std::int32_t tokens = ((kSelectedWidth + wanted - 1) / wanted + 63) / 64 * 64;
  const std::int32_t partitions = (kSelectedWidth + tokens - 1) / tokens;
  const std::int64_t rows = std::int64_t{c.rows} * kHeads;
  r.plan_slots = {.selected = r.plan.selected,
                  .batch = r.plan.batch,
                  .pool = r.plan.pool,
                  .slots = c.rows,
                  .heads = kHeads,
                  .partitions = partitions,
                  .partition_tokens = tokens,
                  .keys = arrays.take<std::int64_t>(std::int64_t{c.rows} * kXqaSlots),
                  .slot_rows = arrays.take<std::int32_t>(c.rows),
                  .lengths = arrays.take<std::int32_t>(c.rows),
                  .active_partitions = arrays.take<std::int32_t>(1),
                  .counters = arrays.take<std::int32_t>(rows),
                  .counters_zeroed = rows};
  r.decode = {.q = r.attention.q,
              .pool = r.plan.pool,
              .batch = r.plan.batch,
              .keys = r.plan_slots.keys,
              .slot_rows = r.plan_slots.slot_rows,
              .lengths = r.plan_slots.lengths,
              .active_partitions = r.plan_slots.active_partitions,
              .k_scale = r.attention.k_scale,
              .v_scale = r.attention.v_scale,
              .softmax_scale = r.attention.softmax_scale,
              .slots = c.rows,
              .heads = kHeads,
              .partitions = partitions,
              .partition_tokens = tokens,
              .partials = arrays.take<float>(rows * kDim * partitions),
              .partial_lse = arrays.take<float>(rows * partitions),
              .counters = r.plan_slots.counters,
              .out = arrays.take<std::uint16_t>(rows * kDim),
              .lse = arrays.take<float>(rows)};
}

}  // namespace

void Routes::grouped(cudaStream_t stream, bool protect) const {
  plan_grouped.launch(plan, stream);
  if (protect) return grouped_attention.launch_early(attention, stream);
  // The same kernel without protection, not the fault, which does more so as to spread NaN as the twin does.
  GroupedAttentionArgs args = attention;
  args.zero_unattended = false;
  has_wgmma() ? grouped_attention_wgmma_launch(args, stream, GroupedGuard::bare, true)
              : grouped_attention_mma_launch(args, stream, true);
}

void Routes::xqa(cudaStream_t stream) const {
  plan_xqa.launch(plan_slots, stream);
  xqa_decode.launch_early(decode, stream);
}

Routes make_routes(const Case& c, const Stream& stream, DeviceArrays& arrays) {
  Routes r;
  r.plan.pool = {.pages = 1 + kContext / kPage, .page_size = kPage, .kv_heads = 1, .dim = kDim, .dtype = c.dtype};
  r.plan.pool.data = arrays.take<std::byte>(static_cast<std::int64_t>(r.plan.pool.bytes()));
  fill_random(stream, r.plan.pool.data, c.dtype, r.plan.pool.elements(), 3);
  auto* q = arrays.take<std::uint16_t>(std::int64_t{c.rows} * kHeads * kDim);
  fill_random(stream, q, Dtype::fp16, std::int64_t{c.rows} * kHeads * kDim, 4);
  r.plan.selected = arrays.put(random_selection(c));
  r.plan.batch = make_batch(c, arrays);
  make_grouped(c, arrays, q, arrays.put(std::vector<float>{1.0f}), r);
  make_xqa(c, arrays, r);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // the uploads went over another stream
  return r;
}

}  // namespace refrain::bench
