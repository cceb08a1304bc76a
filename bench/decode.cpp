// How close split-K decode comes to reading the cache once: plan_xqa and xqa_decode
// as a captured graph, dense GQA and QSA's sparse selection, with
// programmatic edges (`time_us`) and with full ones (`full_edges_us`). In a step one
// plan serves all layers: `layer_us` is a layer's decode of 32 behind one
// plan, `layer_pages_in_order_us` the same with every request's pages one behind the
// other, where they are otherwise handed out at random. One graph holds the chain over
// several pools in turn, more than four times the L2 together, so every read comes from
// memory. Writes refrain.bench/1.
//   bench_decode [--quick] [--cases NAME,NAME] [--out FILE] [--commit HASH]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>

#include "bench/decode_cases.hpp"
#include "bench/decode_error.hpp"
#include "bench/gpu_bench.hpp"
#include "graphs/error.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/xqa_decode.hpp"

namespace refrain::bench {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30, kLargest = 100 * kGiB;
constexpr int kFewestChains = 4, kLayers = 32;
static_assert(kLayers <= kMostPools);  // there are counters for so many decodes behind one plan

/// The chain's Args over one pool; the arrays are the case's, shared by all its pools.
struct Chain {
  PlanXqaArgs plan;
  XqaDecodeArgs decode;

  void enqueue(cudaStream_t stream) const {
    plan_xqa.launch(plan, stream);
    xqa_decode.launch(decode, stream);
  }
  /// Behind a kernel: each waits on the device for the one ahead of it.
  void enqueue_early(cudaStream_t stream) const {
    plan_xqa.launch_early(plan, stream);
    xqa_decode.launch_early(decode, stream);
  }
  void move_to(std::byte* pool) { plan.pool.data = decode.pool.data = pool; }
};

std::vector<std::int32_t> pages_in_order(const DecodeCase& c) {
  std::vector<std::int32_t> pages(static_cast<std::size_t>(c.pages() - 1));
  std::iota(pages.begin(), pages.end(), 1);
  return pages;
}

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

Chain make_chain(const DecodeCase& c, const Stream& stream, DeviceArrays& arrays) {
  std::mt19937 rng(1);
  const auto [tokens, partitions, wide] = splitting_of(c);
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

/// A time of wrong numbers is worth nothing: every LSE is finite, and was not before.
void require_result(const DecodeCase& c, const Chain& chain) {
  std::vector<float> lse(static_cast<std::size_t>(c.batch) * static_cast<std::size_t>(c.heads));
  check(cudaMemcpy(lse.data(), chain.decode.lse, lse.size() * 4, cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (const float value : lse)
    if (!std::isfinite(value))
      throw Error(ErrorKind::driver, c.name(), "the LSE of a row is not finite", "bench_decode");
}

std::string limited_by(double floor_us, double decode_us, double time_us) {
  const double fraction = floor_us / time_us, alone = floor_us / decode_us;
  if (floor_us < 8)
    return fmt::format(
        "latency: reading alone takes {:.1f} us; the rest is two dependent kernels and, in each block, the chain of "
        "slot, request, page id and first tokens",
        floor_us);
  if (alone >= 0.85)
    return fmt::format("memory reads: the decode kernel alone is at {:.2f} of plain reading; the plan adds {:.1f} us",
                       alone, time_us - decode_us);
  return fmt::format(
      "the decode kernel at {:.2f} of plain reading ({:.2f} with its plan): filling and draining every block's "
      "stages, and the last, partly filled wave of blocks",
      alone, fraction);
}

nlohmann::ordered_json measure(const DecodeCase& c, const Stream& stream, const DeviceBuffer& arena, double read_gbps) {
  DeviceArrays arrays;
  const Chain first = make_chain(c, stream, arrays);
  const auto pools = std::min(c.pools(), static_cast<std::int32_t>(static_cast<std::int64_t>(arena.bytes()) /
                                                                   std::max<std::int64_t>(c.pool_bytes(), 1)));
  const int chains = std::max(pools, c.kv_bytes() > 4 * kGiB ? 1 : kFewestChains);
  const auto over_pools = [&](auto enqueue) {
    return [&, enqueue](cudaStream_t on) {
      Chain chain = first;
      for (int i = 0; i < chains; ++i) {
        chain.move_to(arena.data() + i % pools * c.pool_bytes());
        enqueue(chain, on, i == 0);
      }
    };
  };
  const CapturedGraph whole(stream, over_pools([](const Chain& chain, cudaStream_t on, bool first_of_graph) {
                              first_of_graph ? chain.enqueue(on) : chain.enqueue_early(on);
                            }));
  // One plan, and decodes that each count in a set of counters of their own.
  const auto behind_one_plan = [&](const Chain& chain, int decodes, bool early) {
    return [&, decodes, early](cudaStream_t on) {
      PlanXqaArgs plan = chain.plan;
      plan.counter_sets = decodes;
      plan.counters_zeroed *= decodes;
      plan_xqa.launch(plan, on);
      for (int i = 0; i < decodes; ++i) {
        Chain layer = chain;
        layer.move_to(arena.data() + i % pools * c.pool_bytes());
        layer.decode.counters += i * chain.plan.counters_zeroed;
        layer.decode.plan_is_done = i > 0;  // behind the first, the plan is two kernels ahead
        early ? xqa_decode.launch_early(layer.decode, on) : xqa_decode.launch(layer.decode, on);
      }
    };
  };
  const CapturedGraph layers(stream, behind_one_plan(first, kLayers, true));
  Chain in_order = first;
  in_order.plan.batch.page_table = in_order.decode.batch.page_table = arrays.put(pages_in_order(c));
  const CapturedGraph layers_in_order(stream, behind_one_plan(in_order, kLayers, true));
  const CapturedGraph full_edges(stream,
                                 over_pools([](const Chain& chain, cudaStream_t on, bool) { chain.enqueue(on); }));
  const CapturedGraph decode(stream, behind_one_plan(first, chains, false));
  check(cudaMemset(first.decode.lse, 0xFF, static_cast<std::size_t>(c.batch * c.heads) * 4), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // the uploads went over another stream
  const int replays = c.kv_bytes() > kGiB ? 7 : 15;
  const Times times = time_replays(stream, whole, chains, replays);
  require_result(c, first);
  Chain last = first;  // the graph's last chain wrote the output
  last.move_to(arena.data() + (chains - 1) % pools * c.pool_bytes());
  const double error = c.sparse ? 0 : last_row_error(last.decode, c.context);
  const double decode_us = time_replays(stream, decode, chains, replays).median_us;
  const Times layer = time_replays(stream, layers, kLayers, replays);
  require_result(c, first);
  const double in_order_us = time_replays(stream, layers_in_order, kLayers, replays).median_us;
  const double full_edges_us = time_replays(stream, full_edges, chains, replays).median_us;
  const double bytes = static_cast<double>(c.kv_bytes()), gbps = bytes / times.median_us * 1e-3;
  nlohmann::ordered_json row = {
      {"case", c.name()},
      {"time_us", times.median_us},
      {"time_us_min", times.min_us},
      {"time_us_max", times.max_us},
      {"layer_us", layer.median_us},
      {"layer_us_min", layer.min_us},
      {"layer_us_max", layer.max_us},
      {"layer_pages_in_order_us", in_order_us},
      {"full_edges_us", full_edges_us},
      {"pdl_gain_us", full_edges_us - times.median_us},
      {"decode_kernel_us", decode_us},
      {"kv_bytes", c.kv_bytes()},
      {"read_gbps", gbps},
      {"fraction_of_read_bandwidth_ratio", gbps / read_gbps},
      {"layer_fraction_of_read_bandwidth_ratio", gbps / read_gbps * times.median_us / layer.median_us},
      {"partitions", first.decode.partitions},
      {"partition_tokens", first.decode.partition_tokens},
      {"wide", first.decode.wide},
      {"pools", pools},
      {"limited_by", limited_by(bytes / read_gbps * 1e-3, decode_us, times.median_us)}};
  if (!c.sparse) row["max_abs_error"] = error;
  return row;
}

void run(const Options& options) {
  const Stream stream;
  const double read_gbps = measure_read_gbps(stream);
  nlohmann::ordered_json json = frame("decode", options, read_gbps);
  std::size_t free_bytes = 0, total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "cudaMemGetInfo");
  const std::int64_t room = std::min<std::int64_t>(kLargest, static_cast<std::int64_t>(free_bytes) - 4 * kGiB);
  std::vector<DecodeCase> all;
  for (const Dtype dtype : {Dtype::fp16, Dtype::bf16, Dtype::e4m3})
    for (const DecodeCase& c : decode_cases(dtype, options.quick)) all.push_back(c);
  std::erase_if(all, [&](const DecodeCase& c) { return !options.wants(c.name()); });
  if (all.empty())
    throw Error(ErrorKind::usage, "--cases", "expected names of cases, as its results give them", "bench_decode");
  std::int64_t largest = 0;
  for (const DecodeCase& c : all)
    if (c.pool_bytes() <= room) largest = std::max(largest, c.pools() * c.pool_bytes());
  const DeviceBuffer arena(static_cast<std::size_t>(std::min(largest, room) / 16 * 16));
  Dtype filled = Dtype::unknown;
  for (const DecodeCase& c : all) {
    if (c.pool_bytes() > static_cast<std::int64_t>(arena.bytes())) {
      json["skipped"].push_back({{"case", c.name()}, {"pool_bytes", c.pool_bytes()}, {"room_bytes", room}});
      continue;
    }
    if (filled != c.dtype)
      fill_random(stream, arena.data(), c.dtype, static_cast<std::int64_t>(arena.bytes() / dtype_bytes(c.dtype)), 3);
    filled = c.dtype;
    json["rows"].push_back(measure(c, stream, arena, read_gbps));
    const auto& row = json["rows"].back();
    std::cerr << fmt::format("{:52} {:10.1f} us {:8.0f} GB/s {:.3f}, a layer {:10.1f} us {:.3f}\n", c.name(),
                             row["time_us"].get<double>(), row["read_gbps"].get<double>(),
                             row["fraction_of_read_bandwidth_ratio"].get<double>(), row["layer_us"].get<double>(),
                             row["layer_fraction_of_read_bandwidth_ratio"].get<double>());
  }
  write(json, options);
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) {
  return refrain::bench::main_of(argc, argv, "bench_decode", refrain::bench::run);
}
