// Grouped page-4 prefill: plan_grouped, which fixes its padding, and grouped_attention
// as a captured graph, what the kernel's own protection costs (the same nodes without
// it, replay by replay in turn), each of them by itself, pad_fix as it would follow
// another planner, the XQA route over the same selection, and what the work would take
// at least. One request, its last rows, each selecting 512 visible blocks at random: the
// least that neighbours can share. The cache fits the L2 and is warm there, as it is
// when a prefill has just written it. Writes refrain.bench/1.
//   bench_grouped [--quick] [--cases NAME,NAME] [--out FILE] [--commit HASH]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "bench/gpu_bench.hpp"
#include "bench/grouped_floor.hpp"
#include "graphs/error.hpp"
#include "kernels/codec.hpp"

namespace refrain::bench {
namespace {

constexpr int kPadFixes = 16;  ///< in one graph, so that a replay's own cost is spread over them

/// A time of wrong numbers is worth nothing: both routes must give the same rows.
void require_agreement(const Case& c, const Routes& r) {
  const std::int64_t count = std::int64_t{c.rows} * kHeads * kDim;
  const auto grouped = read<std::uint16_t>(r.attention.out, count), xqa = read<std::uint16_t>(r.decode.out, count);
  for (std::size_t i = 0; i < grouped.size(); ++i) {
    const float a = fp16_to_float(grouped[i]), b = fp16_to_float(xqa[i]);
    if (!(std::abs(a - b) <= 1e-3f + 2e-3f * std::abs(b)))
      throw Error(ErrorKind::driver, c.name(), fmt::format("element {}: grouped {}, xqa {}", i, a, b), "bench_grouped");
  }
}

struct Protection {
  Times on, off;
  double cost = 0, cost_min = 0, cost_max = 0;  ///< median on over median off; of the blocks
  int replays = 0;
};

Protection measure_protection(const Stream& stream, const Routes& r, int blocks, int pairs) {
  const CapturedGraph on(stream, [&](cudaStream_t s) { r.grouped(s, true); });
  const CapturedGraph off(stream, [&](cudaStream_t s) { r.grouped(s, false); });
  for (int i = 0; i < 5; ++i) on.replay(stream), off.replay(stream);
  stream.wait();
  std::vector<double> all_on, all_off, costs;
  for (int block = 0; block < blocks; ++block) {
    std::vector<double> block_on, block_off;
    for (int i = 0; i < pairs; ++i) {
      const bool on_first = i % 2 == 0;  // neither is always the one that follows the other
      if (on_first) block_on.push_back(replay_us(stream, on, 1));
      block_off.push_back(replay_us(stream, off, 1));
      if (!on_first) block_on.push_back(replay_us(stream, on, 1));
    }
    costs.push_back(times_of(block_on).median_us / times_of(block_off).median_us);
    all_on.insert(all_on.end(), block_on.begin(), block_on.end());
    all_off.insert(all_off.end(), block_off.begin(), block_off.end());
  }
  Protection p{times_of(all_on), times_of(all_off)};
  p.cost = p.on.median_us / p.off.median_us;
  p.cost_min = *std::min_element(costs.begin(), costs.end());
  p.cost_max = *std::max_element(costs.begin(), costs.end());
  p.replays = 2 * blocks * pairs;
  return p;
}

std::string limited_by(const Work& work, const Ceilings& ceilings, const Floor& floor, double plan_us,
                       double attention_us) {
  const double mma_tflops = static_cast<double>(work.m_tiles) * kTileFlops / attention_us * 1e-6;
  if (work.groups < 2 * kMultiprocessors)
    return fmt::format(
        "latency: {} groups of {} tiles each; planning is {:.1f} us, one block a group, and the attention's {:.1f} us "
        "are a few dependent tiles a block, a start and a merge, against {:.1f} us of {}",
        work.groups, work.tiles / work.groups, plan_us, attention_us, floor.us, floor.by);
  return fmt::format(
      "the attention is {:.1f} times its floor of {}: {:.1f} of {:.1f} TB/s gathered, {:.0f} TFLOP/s of active M "
      "tiles, "
      "of which {:.0f} % belong to attending pairs",
      attention_us / floor.us, floor.by, work.gathered_bytes / attention_us * 1e-6, ceilings.l2_gbps * 1e-3, mma_tflops,
      100 * work.attended_flops / (static_cast<double>(work.m_tiles) * kTileFlops));
}

/// {name}_us and how far the replays of it were apart.
void put(nlohmann::ordered_json& row, const std::string& name, const Times& times) {
  row[name + "_us"] = times.median_us;
  row[name + "_us_min"] = times.min_us;
  row[name + "_us_max"] = times.max_us;
}

void measure_parts(nlohmann::ordered_json& row, const Case& c, const Stream& stream, const Routes& r, bool quick) {
  const int replays = quick ? 9 : c.rows <= 512 ? 51 : 21;
  const CapturedGraph xqa(stream, [&](cudaStream_t s) { r.xqa(s); });
  const CapturedGraph plan(stream, [&](cudaStream_t s) { plan_grouped.launch(r.plan, s); });
  const CapturedGraph attention(stream, [&](cudaStream_t s) { grouped_attention.launch(r.attention, s); });
  const CapturedGraph fix(stream, [&](cudaStream_t s) {
    for (int i = 0; i < kPadFixes; ++i) pad_fix.launch(r.fix, s);
  });
  put(row, "plan", time_replays(stream, plan, 1, replays));
  put(row, "pad_fix", time_replays(stream, fix, kPadFixes, replays));
  put(row, "attention", time_replays(stream, attention, 1, replays));
  put(row, "xqa", time_replays(stream, xqa, 1, replays));
}

nlohmann::ordered_json measure(const Case& c, const Stream& stream, const Ceilings& ceilings, bool quick) {
  DeviceArrays arrays;
  const Routes r = make_routes(c, stream, arrays);
  nlohmann::ordered_json row = {{"case", c.name()}, {"rows", c.rows}};
  const Protection p = measure_protection(stream, r, quick ? 3 : 10, c.rows <= 64 ? 50 : c.rows <= 512 ? 20 : 10);
  put(row, "grouped", p.on);
  put(row, "unprotected", p.off);
  row["protection_cost_ratio"] = p.cost;
  row["protection_cost_ratio_min"] = p.cost_min;
  row["protection_cost_ratio_max"] = p.cost_max;
  row["interleaved_replays"] = p.replays;
  measure_parts(row, c, stream, r, quick);
  require_agreement(c, r);
  const Work work = count_work(c, r);
  const Floor floor = floor_of(work, ceilings);
  const double us = row["attention_us"];
  row["over_xqa_ratio"] = row["xqa_us"].get<double>() / p.on.median_us;
  row["tiles"] = work.tiles;
  row["tflops"] = work.attended_flops / us * 1e-6;
  row["mma_tflops"] = static_cast<double>(work.m_tiles) * kTileFlops / us * 1e-6;
  row["floor_us"] = floor.us;
  row["floor_by"] = floor.by;
  row["limited_by"] = limited_by(work, ceilings, floor, row["plan_us"], us);
  return row;
}

void run(const Options& options) {
  const Stream stream;
  const Ceilings ceilings{measure_read_gbps(stream), measure_l2_gbps(stream)};
  nlohmann::ordered_json json = frame("grouped", options, ceilings.hbm_gbps);
  json["ceilings"]["l2_gbps"] = ceilings.l2_gbps;
  json["ceilings"]["tensor_tflops"] = ceilings.tensor_tflops;
  for (const std::int32_t rows : {16, 24, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192})
    for (const Dtype dtype : {Dtype::e4m3, Dtype::fp16}) {
      const Case c{rows, dtype};
      if (!options.wants(c.name())) continue;
      json["rows"].push_back(measure(c, stream, ceilings, options.quick));
      const auto& row = json["rows"].back();
      const auto us = [&](const char* name) { return row[name].get<double>(); };
      std::cerr << fmt::format(
          "{:22} grouped {:8.1f} us (plan {:6.1f}, attention {:7.1f}, floor {:6.1f}), xqa {:8.1f} us ({:.2f}), "
          "protection {:.4f}, {:.0f} TFLOP/s\n",
          c.name(), us("grouped_us"), us("plan_us"), us("attention_us"), us("floor_us"), us("xqa_us"),
          us("over_xqa_ratio"), us("protection_cost_ratio"), us("tflops"));
    }
  write(json, options);
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) {
  return refrain::bench::main_of(argc, argv, "bench_grouped", refrain::bench::run);
}
