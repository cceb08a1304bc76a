// How close split-K decode comes to reading the cache once: plan_xqa and xqa_decode
// as a captured graph, dense GQA and QSA's sparse selection, with
// programmatic edges (`time_us`) and with full ones (`full_edges_us`). In a step one
// plan serves all layers: `layer_us` is a layer's decode of 32 behind one
// plan, `layer_pages_in_order_us` the same with every request's pages one behind the
// other, where they are otherwise handed out at random. Those splits know the batch, its
// length and the device; `model_layer_us` is a layer by a model's splits, which know the
// row's length and the KV heads alone. One graph holds the chain over several pools in
// turn, more than four times the L2 together, so every read comes from memory. Writes
// refrain.bench/1.
//   bench_decode [--quick] [--cases NAME,NAME] [--out FILE] [--commit HASH]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "bench/decode_chain.hpp"
#include "bench/decode_error.hpp"
#include "bench/gpu_bench.hpp"
#include "graphs/error.hpp"

namespace refrain::bench {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30, kLargest = 100 * kGiB;
constexpr int kFewestChains = 4, kLayers = 32;
static_assert(kLayers <= kMostPools);  // there are counters for so many decodes behind one plan

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

/// A dense case's layers as a model has them: by splits that know neither batch nor device.
void measure_model(const DecodeCase& c, const Stream& stream, const Pools& pools, int replays,
                   nlohmann::ordered_json& row) {
  DeviceArrays arrays;
  const Chain chain = make_chain(c, model_splitting_of(c), stream, arrays);
  const CapturedGraph layers(stream,
                             [&](cudaStream_t on) { enqueue_behind_one_plan(chain, pools, kLayers, true, on); });
  check(cudaMemset(chain.decode.lse, 0xFF, static_cast<std::size_t>(c.batch * c.heads) * 4), "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // the uploads went over another stream
  const Times layer = time_replays(stream, layers, kLayers, replays);
  require_result(c, chain);
  Chain last = chain;
  last.move_to(pools.at(kLayers - 1));
  const SplitRule rule{chain.decode.partitions, chain.decode.partition_tokens};
  row["model_layer_us"] = layer.median_us;
  row["model_layer_us_min"] = layer.min_us;
  row["model_layer_us_max"] = layer.max_us;
  row["model_partitions"] = rule.splits(c.context);
  row["model_partition_tokens"] = rule.tokens(c.context);
  row["model_max_abs_error"] = last_row_error(last.decode, c.context);
}

nlohmann::ordered_json measure(const DecodeCase& c, const Stream& stream, const DeviceBuffer& arena, double read_gbps) {
  DeviceArrays arrays;
  const Chain first = make_chain(c, splitting_of(c), stream, arrays);
  const Pools pools{arena.data(), c.pool_bytes(),
                    std::min(c.pools(), static_cast<std::int32_t>(static_cast<std::int64_t>(arena.bytes()) /
                                                                  std::max<std::int64_t>(c.pool_bytes(), 1)))};
  const int chains = std::max(pools.count, c.kv_bytes() > 4 * kGiB ? 1 : kFewestChains);
  const auto over_pools = [&](auto enqueue) {
    return [&, enqueue](cudaStream_t on) {
      Chain chain = first;
      for (int i = 0; i < chains; ++i) {
        chain.move_to(pools.at(i));
        enqueue(chain, on, i == 0);
      }
    };
  };
  const CapturedGraph whole(stream, over_pools([](const Chain& chain, cudaStream_t on, bool first_of_graph) {
                              first_of_graph ? chain.enqueue(on) : chain.enqueue_early(on);
                            }));
  const auto behind_one_plan = [&](const Chain& chain, int decodes, bool early) {
    return [&, decodes, early](cudaStream_t on) { enqueue_behind_one_plan(chain, pools, decodes, early, on); };
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
  last.move_to(pools.at(chains - 1));
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
      {"pools", pools.count},
      {"limited_by", limited_by(bytes / read_gbps * 1e-3, decode_us, times.median_us)}};
  if (c.sparse) return row;
  row["max_abs_error"] = error;
  measure_model(c, stream, pools, replays, row);
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
