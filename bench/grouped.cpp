// Grouped page-4 prefill: plan_grouped, pad_fix and grouped_attention as a captured
// graph, what the kernel's own protection costs (the same nodes without it, replay
// by replay in turn), pad_fix by itself, and the XQA route over the same selection.
// One request, its last rows, each selecting 512 visible blocks at random: the least
// that neighbours can share. The cache fits the L2 and is warm there, as it is when a
// prefill has just written it. Writes refrain.bench/1.
//   bench_grouped [--quick] [--out FILE] [--commit HASH]
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iostream>

#include "bench/gpu_bench.hpp"
#include "bench/grouped_routes.hpp"
#include "graphs/error.hpp"
#include "kernels/codec.hpp"

namespace refrain::bench {
namespace {

constexpr int kPadFixes = 16;                        ///< in one graph, so that a replay's own cost is spread over them
constexpr double kTileFlops = 4.0 * 16 * 32 * kDim;  ///< QK^T and PV of one 16-row M tile and 32 tokens

template <class T>
std::vector<T> read(const void* from, std::int64_t count) {
  std::vector<T> out(static_cast<std::size_t>(count));
  check(cudaMemcpy(out.data(), from, out.size() * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
  return out;
}

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

struct Work {
  std::int64_t tiles = 0, m_tiles = 0;  ///< K/V tiles, and 16-row M tiles multiplied with them
  double attended_flops = 0;            ///< of (row, token) pairs that attend, without what tiles add
};

Work count_work(const Case& c, const Routes& r) {
  const auto masks = read<std::uint32_t>(r.plan.masks, std::int64_t{r.plan.groups} * kGroupedWidth);
  const auto tokens = read<std::int32_t>(r.plan.tokens, r.plan.groups);
  Work work;
  std::int64_t pairs = 0;
  for (std::size_t group = 0; group < tokens.size(); ++group)
    for (std::size_t tile = 0; tile < static_cast<std::size_t>(tokens[group]) / 32; ++tile) {
      std::uint32_t any = 0;
      for (std::size_t i = 0; i < kTileMicroblocks; ++i) {
        const std::uint32_t mask = masks[group * kGroupedWidth + tile * kTileMicroblocks + i];
        any |= mask;
        pairs += std::popcount(mask);
      }
      ++work.tiles;
      work.m_tiles += std::popcount(category_of_mask(any));
    }
  work.attended_flops = static_cast<double>(pairs) * kHeads * 4 * kDim;
  if (pairs == 0) throw Error(ErrorKind::driver, c.name(), "the plan is empty", "bench_grouped");
  return work;
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

/// Bytes a clock that one multiprocessor reads from shared memory for K and V fragments: each M tile reads them anew.
double shared_bytes_a_clock(const Case& c, const Work& work, double attention_us) {
  int khz = 0;
  check(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
  const double bytes = static_cast<double>(work.m_tiles) * 2 * 32 * kDim * static_cast<double>(dtype_bytes(c.dtype));
  return bytes / (attention_us * 1e-3 * khz * kMultiprocessors);
}

std::string limited_by(const Case& c, const Routes& r, const Work& work, double grouped_us, double attention_us) {
  if (r.plan.groups < 32)
    return fmt::format(
        "latency: {} groups keep at most {} of {} multiprocessors busy (clusters of up to eight share a group), so the "
        "attention kernel's {:.1f} us are a chain of dependent tiles; the rest of {:.1f} us is planning and two "
        "launches",
        r.plan.groups, 8 * r.plan.groups, kMultiprocessors, attention_us, grouped_us);
  return fmt::format(
      "mma.sync and its operands: {:.0f} TFLOP/s enter the tensor cores, each of three M tiles reads K and V fragments "
      "anew ({:.0f} of 128 shared bytes a clock), and only {:.0f} % of those FLOPs belong to attending pairs",
      static_cast<double>(work.m_tiles) * kTileFlops / attention_us * 1e-6, shared_bytes_a_clock(c, work, attention_us),
      100 * work.attended_flops / (static_cast<double>(work.m_tiles) * kTileFlops));
}

nlohmann::ordered_json measure(const Case& c, const Stream& stream, bool quick) {
  DeviceArrays arrays;
  const Routes r = make_routes(c, stream, arrays);
  const bool small = c.rows <= 64;
  const Protection p = measure_protection(stream, r, quick ? 3 : 10, small ? 100 : 10);
  const int replays = quick ? 9 : small ? 101 : 21;
  const CapturedGraph xqa(stream, [&](cudaStream_t s) { r.xqa(s); });
  const CapturedGraph attention(stream, [&](cudaStream_t s) { grouped_attention.launch(r.attention, s); });
  const CapturedGraph fix(stream, [&](cudaStream_t s) {
    for (int i = 0; i < kPadFixes; ++i) pad_fix.launch(r.fix, s);
  });
  const Times xqa_times = time_replays(stream, xqa, 1, replays);
  const Times attention_times = time_replays(stream, attention, 1, replays);
  const Times fix_times = time_replays(stream, fix, kPadFixes, replays);
  require_agreement(c, r);
  const Work work = count_work(c, r);
  const double us = attention_times.median_us;
  return {{"case", c.name()},
          {"rows", c.rows},
          {"grouped_us", p.on.median_us},
          {"grouped_us_min", p.on.min_us},
          {"grouped_us_max", p.on.max_us},
          {"unprotected_us", p.off.median_us},
          {"unprotected_us_min", p.off.min_us},
          {"unprotected_us_max", p.off.max_us},
          {"protection_cost_ratio", p.cost},
          {"protection_cost_ratio_min", p.cost_min},
          {"protection_cost_ratio_max", p.cost_max},
          {"interleaved_replays", p.replays},
          {"attention_us", us},
          {"attention_us_min", attention_times.min_us},
          {"attention_us_max", attention_times.max_us},
          {"pad_fix_us", fix_times.median_us},
          {"pad_fix_us_min", fix_times.min_us},
          {"pad_fix_us_max", fix_times.max_us},
          {"xqa_us", xqa_times.median_us},
          {"xqa_us_min", xqa_times.min_us},
          {"xqa_us_max", xqa_times.max_us},
          {"tiles", work.tiles},
          {"tflops", work.attended_flops / us * 1e-6},
          {"mma_tflops", static_cast<double>(work.m_tiles) * kTileFlops / us * 1e-6},
          {"limited_by", limited_by(c, r, work, p.on.median_us, us)}};
}

void run(const Options& options) {
  const Stream stream;
  nlohmann::ordered_json json = frame("grouped", options, measure_read_gbps(stream));
  for (const std::int32_t rows : {16, 8192})
    for (const Dtype dtype : {Dtype::e4m3, Dtype::fp16}) {
      json["rows"].push_back(measure({rows, dtype}, stream, options.quick));
      const auto& row = json["rows"].back();
      std::cerr << fmt::format("{:28} grouped {:8.1f} us, xqa {:8.1f} us, protection {:.4f}, {:.0f} TFLOP/s\n",
                               row["case"].get<std::string>(), row["grouped_us"].get<double>(),
                               row["xqa_us"].get<double>(), row["protection_cost_ratio"].get<double>(),
                               row["tflops"].get<double>());
    }
  write(json, options);
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) {
  return refrain::bench::main_of(argc, argv, "bench_grouped", refrain::bench::run);
}
