#include "kernels/xqa_decode.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

void assert_shape([[maybe_unused]] const XqaDecodeArgs& args) {
  assert_pool_shape(args.pool);
  if (args.keys != nullptr) assert_microblocks(args.pool);
  assert(args.q_dtype == Dtype::fp16 || args.q_dtype == Dtype::bf16);
  assert(args.partial_dtype == Dtype::fp32 || args.partial_dtype == Dtype::fp16);
  assert(args.slots > 0 && args.slots <= args.batch.bucket && (!args.every_row || args.slots == args.batch.bucket));
  assert(args.heads > 0 && args.heads % args.pool.kv_heads == 0);
  assert(args.partitions > 0 && args.partition_tokens > 0);
}

/// What a block reads to know its split and where its tokens lie.
bool is_of_plan(const XqaDecodeArgs& args, const Access& access) {
  const std::array<const void*, 6> tables{
      args.slot_rows, args.lengths, args.active_partitions, args.keys, args.batch.token_to_req, args.batch.page_table};
  return access.mode == Mode::read && std::any_of(tables.begin(), tables.end(), [&](const void* table) {
           return reinterpret_cast<Address>(table) == access.base;
         });
}

Contract xqa_decode_contract(const XqaDecodeArgs& args) {
  assert_shape(args);
  const auto slots = elements(args.slots), heads = elements(args.slots, args.heads);
  const auto rows = elements(args.batch.bucket, args.heads), dim = elements(args.pool.dim);
  const auto splits = heads * elements(args.partitions);
  const Reach reach = args.every_row ? Reach::exact : Reach::may;
  const auto* partials = static_cast<const std::byte*>(args.partials);
  Contract contract;
  contract.waits = contract.triggers = true;
  contract.accesses = {
      read_input(args.q, rows * dim, args.q_dtype),
      read_pool(args.pool),
      touch(args.lengths, slots, Mode::read, Role::plan, Dtype::i32),
      touch(args.active_partitions, 1, Mode::read, Role::plan, Dtype::i32),
      // What is read of these two this launch has written: nobody else's bytes are.
      touch(partials, splits * dim, Mode::write, Role::workspace, args.partial_dtype, Reach::may),
      touch(args.partial_lse, splits, Mode::write, Role::workspace, Dtype::fp32, Reach::may),
      touch(args.counters, heads, Mode::accumulate, Role::scratch, Dtype::i32),
      touch(static_cast<const std::byte*>(args.out), rows * dim, Mode::write, Role::output, args.out_dtype, reach),
      touch(args.lse, rows, Mode::write, Role::output, Dtype::fp32, reach),
  };
  if (!args.every_row) contract.accesses.push_back(touch(args.slot_rows, slots, Mode::read, Role::plan, Dtype::i32));
  touch_scales(contract, args.k_scale, args.v_scale);
  if (args.keys != nullptr) {
    contract.accesses.push_back(touch(args.keys, slots * kXqaSlots, Mode::read, Role::plan, Dtype::i64));
  } else {
    const auto table = elements(args.batch.requests, args.batch.pages_per_request);
    contract.accesses.push_back(read_input(args.batch.token_to_req, elements(args.batch.bucket), Dtype::i32));
    contract.accesses.push_back(read_input(args.batch.page_table, table, Dtype::i32));
  }
  if (args.plan_is_done) {
    for (Access& access : contract.accesses) access.before_wait = is_of_plan(args, access);
    if (args.keys == nullptr) contract.accesses.push_back(read_settled(args.pool));
  }
  contract.needs = {claim(Fact::zeroed, args.counters, heads * dtype_bytes(Dtype::i32))};
  return contract;
}

constexpr std::int32_t kFewestTokens = 256, kSplitStep = 64;

std::int32_t even_split(std::int32_t tokens, std::int32_t splits) {
  return std::max(((tokens - 1) / splits / kSplitStep + 1) * kSplitStep, kFewestTokens);
}

/// Of the splits of `units` rows and KV heads those whose waves of `places` blocks take least; filling and draining a
/// block costs what 256 tokens cost, and merging once half of that.
std::int32_t cheapest_waves(std::int64_t units, std::int32_t tokens, std::int64_t places) {
  constexpr std::int32_t kMostSplits = 16, kFill = 256, kMerge = 128;
  std::int32_t best = tokens;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::int32_t splits = 1; splits <= kMostSplits; ++splits) {
    const std::int32_t each = even_split(tokens, splits);
    const std::int64_t blocks = units * ((tokens - 1) / each + 1);
    const std::int64_t cost = (blocks - 1) / places * (each + kFill) + each + kFill + (splits > 1 ? kMerge : 0);
    if (cost < least) best = each, least = cost;
  }
  return best;
}

}  // namespace

XqaSplitting balanced_splitting(std::int32_t rows, const KvPoolView& pool, std::int32_t tokens,
                                std::int32_t multiprocessors) noexcept {
  // Measured on an H200. Where the units do not fill the device, narrow blocks are too few to keep up with the memory.
  // Where they do, two narrow ones hide each other's beginnings and ends, which is worth 7 % at 1,024 tokens; over 16
  // bits, wide ones are worth 0.2 to 2 % where rows are long.
  constexpr std::int32_t kLong = 8192;
  const std::int64_t units = std::int64_t{rows} * pool.kv_heads;
  const bool fills = units > multiprocessors;
  XqaSplitting out;
  out.wide = !fills || (pool.dtype != Dtype::e4m3 && tokens >= kLong);
  out.partition_tokens = fills ? cheapest_waves(units, tokens, std::int64_t{out.wide ? 1 : 2} * multiprocessors)
                               : even_split(tokens, static_cast<std::int32_t>(multiprocessors / units));
  out.partitions = (tokens - 1) / out.partition_tokens + 1;
  return out;
}

const Op<XqaDecodeArgs> xqa_decode = {.name = "xqa_decode",
                                      .contract = xqa_decode_contract,
                                      .host = xqa_decode_host,
                                      .launch = xqa_decode_launch,
                                      .launch_early = xqa_decode_launch_early};

}  // namespace refrain
