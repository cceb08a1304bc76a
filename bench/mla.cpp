// Sparse MLA beside the published figures for an H200: the split decode with its
// merge, and the prefill, as captured graphs. A decode graph goes over several
// pools in turn, more than four times the L2 together, so that every record comes
// from memory; the prefill's records fit the L2 and are gathered from it. Writes
// refrain.bench/1.
//   bench_mla [--quick] [--cases NAME,NAME] [--out FILE] [--commit HASH]
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <random>

#include "bench/gpu_bench.hpp"
#include "graphs/error.hpp"
#include "kernels/merge_mla.hpp"
#include "kernels/sparse_mla.hpp"

namespace refrain::bench {
namespace {

constexpr std::int64_t kRotated = 256'000'000;  ///< bytes read before a pool comes again: over 4 x 60 MB of L2
constexpr std::int32_t kMostPools = 64, kMultiprocessors = 132, kPage = 64, kChunk = 64;
constexpr double kMatrixTflops = 788;  ///< a large bf16 product on this GPU

struct Case {
  std::int32_t rows = 0, keys = 0, topk = 2048, heads = 16;
  MlaRecord record = MlaRecord::e4m3_656;
  bool causal = false;      ///< row r's list holds its first r + 1 keys at most
  double published_us = 0;  ///< the best figure known for this case; 0: none

  [[nodiscard]] bool prefill() const { return rows > kMlaDecodeRows; }
  [[nodiscard]] MlaPoolView pool() const {
    return {.pages = (keys + kPage - 1) / kPage, .page_size = kPage, .record = record};
  }
  [[nodiscard]] std::string name() const {
    const char* format = record == MlaRecord::bf16 ? "bf16" : record == MlaRecord::e4m3_656 ? "e4m3-656" : "e4m3-584";
    return fmt::format("{}{}-{}-rows{}-heads{}-topk{}", prefill() ? "prefill" : "decode", causal ? "-causal" : "",
                       format, rows, heads, topk);
  }
  [[nodiscard]] std::int64_t length(std::int32_t row) const {
    return causal ? std::min(topk, row + 1) : std::min(topk, keys);
  }
  [[nodiscard]] std::int64_t entries() const {
    std::int64_t sum = 0;
    for (std::int32_t row = 0; row < rows; ++row) sum += length(row);
    return sum;
  }
  [[nodiscard]] std::int64_t gathered_bytes() const {
    return entries() * (pool().record_bytes() + (record == MlaRecord::e4m3_584 ? kMlaFooterBytes : 0));
  }
  /// A decode's come from memory; a prefill's pool is read once.
  [[nodiscard]] std::int64_t memory_bytes() const {
    return prefill() ? static_cast<std::int64_t>(pool().bytes()) : gathered_bytes();
  }
  [[nodiscard]] double tflop() const {
    return 2.0 * static_cast<double>(entries()) * heads * (pool().dim() + kMlaValueDim) * 1e-12;
  }
  [[nodiscard]] std::int32_t pools() const {
    if (prefill()) return 1;
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(kRotated / std::max<std::int64_t>(gathered_bytes(), 1) + 1, 4, kMostPools));
  }
  /// Blocks of the prefill over the multiprocessors.
  [[nodiscard]] double rounds() const { return static_cast<double>(rows) * groups() / kMultiprocessors; }
  [[nodiscard]] std::int32_t groups() const { return (heads + 63) / 64; }
  /// As many splits as fill the multiprocessors once.
  [[nodiscard]] std::int32_t split_entries() const {
    const std::int32_t splits = std::max(1, kMultiprocessors / (rows * groups()));
    return ((topk + splits - 1) / splits + kChunk - 1) / kChunk * kChunk;
  }
};

std::vector<Case> cases(bool quick) {
  std::vector<Case> all = {
      {.rows = 8, .keys = 32'768, .published_us = 16.83},
      {.rows = 64, .keys = 262'144},
      {.rows = 2119, .keys = 2119, .heads = 8, .record = MlaRecord::bf16, .published_us = 1057},
  };
  if (quick) return all;
  for (const MlaRecord record : {MlaRecord::bf16, MlaRecord::e4m3_584})
    for (const std::int32_t rows : {8, 64}) all.push_back({.rows = rows, .keys = 32'768 * rows / 8, .record = record});
  for (const std::int32_t heads : {64, 128})
    for (const MlaRecord record : {MlaRecord::bf16, MlaRecord::e4m3_656, MlaRecord::e4m3_584})
      all.push_back({.rows = 64, .keys = 262'144, .heads = heads, .record = record});
  all.push_back({.rows = 1, .keys = 32'768});
  all.push_back({.rows = 2119, .keys = 2119, .heads = 8, .record = MlaRecord::bf16, .causal = true});
  for (const MlaRecord record : {MlaRecord::e4m3_656, MlaRecord::e4m3_584})
    all.push_back({.rows = 2119, .keys = 2119, .heads = 8, .record = record});
  for (const std::int32_t heads : {16, 64, 128})
    all.push_back({.rows = 2119, .keys = 2119, .heads = heads, .record = MlaRecord::bf16});
  for (const MlaRecord record : {MlaRecord::e4m3_656, MlaRecord::e4m3_584})
    all.push_back({.rows = 2119, .keys = 2119, .heads = 64, .record = record});
  return all;
}

/// Distinct slots at random for every row.
std::vector<std::int32_t> lists(const Case& c) {
  std::mt19937 rng(1);
  std::vector<std::int32_t> slots, out;
  for (std::int32_t row = 0; row < c.rows; ++row) {
    if (row == 0 || c.causal) {
      slots.resize(static_cast<std::size_t>(c.causal ? row + 1 : c.keys));
      std::iota(slots.begin(), slots.end(), 0);
    }
    const auto length = static_cast<std::size_t>(c.length(row));
    for (std::size_t i = 0; i < length; ++i) std::swap(slots[i], slots[i + rng() % (slots.size() - i)]);
    out.insert(out.end(), slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(length));
    out.resize(static_cast<std::size_t>(row + 1) * static_cast<std::size_t>(c.topk), -1);
  }
  return out;
}

/// Random records with scales of about 1/2, all finite.
void fill_pool(const Stream& stream, const MlaPoolView& pool, std::byte* data) {
  const bool bf16 = pool.record == MlaRecord::bf16;
  const auto bytes = static_cast<std::int64_t>(pool.bytes());
  fill_random(stream, data, bf16 ? Dtype::bf16 : Dtype::e4m3, bf16 ? bytes / 2 : bytes, 3);
  if (pool.record == MlaRecord::e4m3_656)  // 0x3F3F3F3F is 0.75
    check(cudaMemset2DAsync(data + 512, 656, 0x3F, 16, static_cast<std::size_t>(pool.slots()), stream.get()),
          "cudaMemset2DAsync");
  if (pool.record == MlaRecord::e4m3_584)
    check(cudaMemset2DAsync(data + pool.footer_offset(0), static_cast<std::size_t>(pool.page_bytes()), 0x7E,
                            kPage * kMlaFooterBytes, static_cast<std::size_t>(pool.pages), stream.get()),
          "cudaMemset2DAsync");
}

struct Chain {
  SparseMlaArgs attend;
  MergeMlaArgs merge;
  bool prefill = false;

  void enqueue(cudaStream_t stream, bool with_merge) const {
    if (prefill) return sparse_mla_prefill.launch(attend, stream);
    sparse_mla_decode.launch(attend, stream);
    if (with_merge) merge_mla.launch(merge, stream);
  }
};

Chain make_chain(const Case& c, const Stream& stream, DeviceArrays& arrays) {
  const std::int64_t heads = std::int64_t{c.rows} * c.heads;
  Chain chain;
  chain.prefill = c.prefill();
  SparseMlaArgs& args = chain.attend;
  args.pool = c.pool();
  std::uint16_t* q = arrays.take<std::uint16_t>(heads * args.pool.dim());
  fill_random(stream, q, Dtype::bf16, heads * args.pool.dim(), 2);
  args.q = q;
  args.indices = arrays.put(lists(c));
  std::vector<std::int32_t> lengths;
  for (std::int32_t row = 0; row < c.rows; ++row) lengths.push_back(static_cast<std::int32_t>(c.length(row)));
  args.lengths = arrays.put(lengths);
  args.real_rows = arrays.put(std::vector<std::int32_t>{c.rows});
  args.softmax_scale = 0.02f / std::sqrt(static_cast<float>(args.pool.dim()));
  args.rows = c.rows;
  args.heads = c.heads;
  args.topk = c.topk;
  args.out = arrays.take<std::uint16_t>(heads * kMlaValueDim);
  args.lse = arrays.take<float>(heads);
  if (c.prefill()) return chain;
  args.split_entries = c.split_entries();
  args.splits = (c.topk + args.split_entries - 1) / args.split_entries;
  args.partials = arrays.take<float>(heads * args.splits * kMlaValueDim);
  args.partial_lse = arrays.take<float>(heads * args.splits);
  chain.merge = {.partials = args.partials,
                 .partial_lse = args.partial_lse,
                 .real_rows = args.real_rows,
                 .rows = c.rows,
                 .heads = c.heads,
                 .splits = args.splits,
                 .out = args.out,
                 .lse = args.lse};
  return chain;
}

/// A time of wrong numbers is worth nothing: every LSE is finite, and was not before.
void require_result(const Case& c, const Chain& chain) {
  std::vector<float> lse(static_cast<std::size_t>(c.rows) * static_cast<std::size_t>(c.heads));
  check(cudaMemcpy(lse.data(), chain.attend.lse, lse.size() * 4, cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (const float value : lse)
    if (!std::isfinite(value)) throw Error(ErrorKind::driver, c.name(), "the LSE of a row is not finite", "bench_mla");
}

constexpr double kL2Bound = 4.0;  ///< TB/s of gathers from the L2 beyond which they are what limits

std::string limited_by(const Case& c, double floor_us, double attend_us, double time_us) {
  const double gather_tbps = static_cast<double>(c.gathered_bytes()) / attend_us * 1e-6;
  const std::string pace = fmt::format(
      "the blocks' own pace, one a multiprocessor: {}two products and a softmax a tile, one after the other, {}",
      c.record == MlaRecord::bf16 ? "" : "decoding, ",
      c.heads % 64 == 0 ? "by two warpgroups in step, so that nothing fills the tensor cores during a softmax"
                        : "each held by reads of shared memory");
  if (c.prefill() && gather_tbps >= kL2Bound)
    return fmt::format("gathers from the L2: {:.2f} GB at {:.2f} TB/s; and {:.2f} rounds of blocks take {:.0f}",
                       static_cast<double>(c.gathered_bytes()) * 1e-9, gather_tbps, c.rounds(), std::ceil(c.rounds()));
  if (c.prefill() || floor_us >= 8)
    return fmt::format("{}; gathers run at {:.2f} TB/s, at {:.2f} of the floor", pace, gather_tbps, floor_us / time_us);
  return fmt::format(
      "latency: memory alone takes {:.1f} us; the rest is two dependent kernels and, in each block, the chain of "
      "length, "
      "index and record and the tiles' products; the merge adds {:.1f} us",
      floor_us, time_us - attend_us);
}

nlohmann::ordered_json measure(const Case& c, const Stream& stream, double read_gbps) {
  DeviceArrays arrays;
  const Chain first = make_chain(c, stream, arrays);
  const auto bytes = static_cast<std::int64_t>(c.pool().bytes());
  std::byte* pools = arrays.take<std::byte>(bytes * c.pools());
  for (int i = 0; i < c.pools(); ++i) fill_pool(stream, c.pool(), pools + i * bytes);
  const auto over_pools = [&](bool with_merge) {
    return [&, with_merge](cudaStream_t on) {
      Chain chain = first;
      for (int i = 0; i < c.pools(); ++i) {
        chain.attend.pool.data = pools + i * bytes;
        chain.enqueue(on, with_merge);
      }
    };
  };
  const CapturedGraph whole(stream, over_pools(true)), alone(stream, over_pools(false));
  check(cudaMemset(first.attend.lse, 0xFF, static_cast<std::size_t>(c.rows) * static_cast<std::size_t>(c.heads) * 4),
        "cudaMemset");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // the uploads went over another stream
  const Times times = time_replays(stream, whole, c.pools(), 21);
  require_result(c, first);
  const double attend_us = c.prefill() ? times.median_us : time_replays(stream, alone, c.pools(), 21).median_us;
  const double floor_us =
      std::max(static_cast<double>(c.memory_bytes()) / read_gbps * 1e-3, c.tflop() / kMatrixTflops * 1e6);
  nlohmann::ordered_json row = {{"case", c.name()},
                                {"time_us", times.median_us},
                                {"time_us_min", times.min_us},
                                {"time_us_max", times.max_us},
                                {"attend_kernel_us", attend_us},
                                {"floor_us", floor_us},
                                {"gathered_bytes", c.gathered_bytes()},
                                {"gather_gbps", static_cast<double>(c.gathered_bytes()) / times.median_us * 1e-3},
                                {"achieved_tflops", c.tflop() / times.median_us * 1e6},
                                {"splits", first.attend.splits},
                                {"pools", c.pools()}};
  if (c.published_us > 0) {
    row["best_published_us"] = c.published_us;
    row["over_best_published_ratio"] = times.median_us / c.published_us;
  }
  row["limited_by"] = limited_by(c, floor_us, attend_us, times.median_us);
  return row;
}

void run(const Options& options) {
  const Stream stream;
  const double read_gbps = measure_read_gbps(stream);
  nlohmann::ordered_json json = frame("mla", options, read_gbps);
  for (const Case& c : cases(options.quick)) {
    if (!options.wants(c.name())) continue;
    json["rows"].push_back(measure(c, stream, read_gbps));
    const auto& row = json["rows"].back();
    std::cerr << fmt::format("{:44} {:9.2f} us ({:.2f} attend), floor {:8.2f} us, {:7.0f} GB/s, {:6.1f} TFLOP/s\n",
                             c.name(), row["time_us"].get<double>(), row["attend_kernel_us"].get<double>(),
                             row["floor_us"].get<double>(), row["gather_gbps"].get<double>(),
                             row["achieved_tflops"].get<double>());
  }
  write(json, options);
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) {
  return refrain::bench::main_of(argc, argv, "bench_mla", refrain::bench::run);
}
