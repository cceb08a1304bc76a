#include "bench/decode_chain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace refrain::bench {
namespace {

std::vector<std::int32_t> shuffled_pages(const DecodeCase& c, std::mt19937& rng) {
  std::vector<std::int32_t> pages = pages_in_order(c);
  std::shuffle(pages.begin(), pages.end(), rng);
  return pages;
}

/// 512 of the visible blocks at random, then the tail, for every row.
std::vector<std::int32_t> random_selection(const DecodeCase& c, std::mt19937& rng) {
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(c.context / kMicroblockTokens)), out;
  std::iota(blocks.begin(), blocks.end(), 0);
  for (std::int32_t row = 0; row < c.batch; ++row) {
    std::shuffle(blocks.begin(), blocks.end(), rng);
    for (std::size_t i = 0; i < kSelectedBlocks; ++i)
      for (std::int32_t t = 0; t < kMicroblockTokens; ++t) out.push_back(kMicroblockTokens * blocks[i] + t);
    for (std::int32_t token = c.context / 4 * 4; token < c.context; ++token) out.push_back(token);
  }
  return out;
}

BatchView make_batch(const DecodeCase& c, DeviceArrays& arrays, std::mt19937& rng) {
  std::vector<std::int32_t> requests(static_cast<std::size_t>(c.batch));
  std::iota(requests.begin(), requests.end(), 0);
  return {.rows = arrays.put(std::vector<std::int32_t>{c.batch}),
          .token_to_req = arrays.put(requests),
          .query_pos = arrays.put(std::vector<std::int64_t>(requests.size(), c.context - 1)),
          .seq_len = arrays.put(std::vector<std::int32_t>(requests.size(), c.context)),
          .page_table = arrays.put(shuffled_pages(c, rng)),
          .bucket = c.batch,
          .requests = c.batch,
          .pages_per_request = static_cast<std::int32_t>(c.pages_per_request())};
}

}  // namespace

std::vector<std::int32_t> pages_in_order(const DecodeCase& c) {
  std::vector<std::int32_t> pages(static_cast<std::size_t>(c.pages() - 1));
  std::iota(pages.begin(), pages.end(), 1);
  return pages;
}

Chain make_chain(const DecodeCase& c, const XqaSplitting& splitting, const Stream& stream, DeviceArrays& arrays) {
  std::mt19937 rng(1);
  const auto [tokens, partitions, wide] = splitting;
  const Dtype q_dtype = c.dtype == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16;
  const std::int64_t heads = std::int64_t{c.batch} * c.heads, width = heads * c.dim;
  std::int32_t* slot_rows = arrays.take<std::int32_t>(c.batch);
  std::int32_t* lengths = arrays.take<std::int32_t>(c.batch);
  std::int32_t* active = arrays.take<std::int32_t>(1);
  std::int32_t* counters = arrays.take<std::int32_t>(heads * kMostPools);
  std::uint16_t* q = arrays.take<std::uint16_t>(width);
  fill_random(stream, q, q_dtype, width, 2);
  const float* scale = arrays.put(std::vector<float>{1.0f});
  const KvPoolView pool{
      .pages = c.pages(), .page_size = c.page_size, .kv_heads = c.kv_heads, .dim = c.dim, .dtype = c.dtype};
  Chain chain;
  chain.plan = {.selected = c.sparse ? arrays.put(random_selection(c, rng)) : nullptr,
                .batch = make_batch(c, arrays, rng),
                .pool = pool,
                .slots = c.batch,
                .heads = c.heads,
                .partitions = partitions,
                .partition_tokens = tokens,
                .keys = c.sparse ? arrays.take<std::int64_t>(std::int64_t{c.batch} * kXqaSlots) : nullptr,
                .slot_rows = slot_rows,
                .lengths = lengths,
                .active_partitions = active,
                .counters = counters,
                .counters_zeroed = heads};
  chain.decode = {.q = q,
                  .q_dtype = q_dtype,
                  .pool = pool,
                  .batch = chain.plan.batch,
                  .keys = chain.plan.keys,
                  .slot_rows = slot_rows,
                  .lengths = lengths,
                  .active_partitions = active,
                  .k_scale = scale,
                  .v_scale = scale,
                  .softmax_scale = 1.0f / std::sqrt(static_cast<float>(c.dim)),
                  .slots = c.batch,
                  .heads = c.heads,
                  .partitions = partitions,
                  .partition_tokens = tokens,
                  .partials = arrays.take<float>(width * partitions),
                  .partial_lse = arrays.take<float>(heads * partitions),
                  .counters = counters,
                  .wide = wide,
                  .out_dtype = q_dtype,
                  .out = arrays.take<std::uint16_t>(width),
                  .lse = arrays.take<float>(heads)};
  return chain;
}

void enqueue_behind_one_plan(const Chain& chain, const Pools& pools, int decodes, bool early, cudaStream_t on) {
  PlanXqaArgs plan = chain.plan;
  plan.counter_sets = decodes;
  plan.counters_zeroed *= decodes;
  plan_xqa.launch(plan, on);
  for (int i = 0; i < decodes; ++i) {
    Chain layer = chain;
    layer.move_to(pools.at(i));
    layer.decode.counters += i * chain.plan.counters_zeroed;
    layer.decode.plan_is_done = i > 0;  // behind the first, the plan is two kernels ahead
    early ? xqa_decode.launch_early(layer.decode, on) : xqa_decode.launch(layer.decode, on);
  }
}

}  // namespace refrain::bench
