// One block of 1,024 threads a row. The row is read once for its largest logit and
// once for the sum of the weights, three times more for a top-k and three for a
// top-p, then one of its 32 runs is walked. Only the first reading is of memory, the
// others are of the L2 cache. Floor: rows * vocab * element bytes over the memory's
// bandwidth; as in argmax, what limits few rows is what one SM can take in, here up
// to eight times over, and for a top-p the exponentials beside it.
#include <cassert>
#include <cstdint>

#include "kernels/device/logit_threshold.cuh"
#include "kernels/launchers.hpp"
#include "kernels/row_count.hpp"
#include "kernels/sample.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr float kNegativeInf = -__builtin_huge_valf();

struct Scratch {
  device::DrawScratch draw;
  device::ThresholdScratch threshold;
};

/// exp((logit - max) / temperature); 1 at the maximum and 0 at -inf whatever the temperature.
struct Weight {
  float max, temperature;

  __device__ float operator()(float logit) const {
    const float below = logit - max;
    if (logit == max) return 1.0f;
    return below == kNegativeInf ? 0.0f : expf(__fdiv_rn(below, temperature));
  }
};

/// In units of 2^-40: exact from 2^-16 up, and 2^23 ids sum to no more than 2^63.
[[nodiscard]] __device__ unsigned long long fixed_of(float weight) {
  return __float2ull_rn(weight * 0x1p40f);
}

/// The smallest key that top-k and then top-p keep.
template <class Row>
[[nodiscard]] __device__ std::uint32_t least_kept(const Row& row, Weight weight, std::int32_t top_k, float top_p,
                                                  device::ThresholdScratch& scratch) {
  std::uint32_t least = 0;
  if (top_k > 0 && top_k < row.vocab)  // ids at -inf weigh nothing: kept or not, they are never drawn
    least = device::threshold_key(
        row, [](float logit) { return logit == kNegativeInf ? 0ull : 1ull; },
        [&](unsigned long long) { return static_cast<unsigned long long>(top_k); }, scratch);
  if (top_p >= 1) return least;
  const auto share = [&](unsigned long long total) {
    const auto wanted = static_cast<unsigned long long>(ceil(double{fmaxf(top_p, 0.0f)} * static_cast<double>(total)));
    return min(max(wanted, 1ull), total);
  };
  return device::threshold_key(
      row, [&](float logit) { return device::key_of(logit) >= least ? fixed_of(weight(logit)) : 0ull; }, share,
      scratch);
}

template <class Row>
[[nodiscard]] __device__ std::int32_t sample_row(const SampleArgs& args, const Row& row, std::int32_t at,
                                                 Scratch& scratch) {
  const float temperature = args.temperature[at], top_p = args.top_p[at];
  if (args.wanted != nullptr && args.wanted[at] < 0) return -1;
  if (!(temperature >= 0) || isnan(top_p)) return -1;
  const device::RowScan scan = device::scan_logits(row, scratch.draw);
  if (scan.bad) return -1;
  if (temperature == 0) return scan.largest.id;
  const Weight weight{scan.largest.value, temperature};
  const std::uint32_t least = least_kept(row, weight, args.top_k[at], top_p, scratch.threshold);
  const auto kept = [&](std::int32_t id) {
    const float logit = row[id];
    return device::key_of(logit) >= least ? weight(logit) : 0.0f;
  };
  const float total = device::sum_runs(row.vocab, kept, scratch.draw);
  return device::draw(row.vocab, kept, total, sample_uniform(args.seeds[2 * at], args.seeds[2 * at + 1]), scratch.draw);
}

template <Dtype kDtype, bool kVector>
__global__ void __launch_bounds__(device::kDrawThreads) sample_kernel(const SampleArgs args) {
  __shared__ Scratch scratch;
  const auto at = static_cast<std::int32_t>(blockIdx.x);
  std::int32_t token = -1;
  if (at < clamp_rows(*args.rows, args.bucket)) {
    const device::LogitRow<kDtype, kVector> row{args.logits, std::int64_t{at} * args.vocab, args.vocab};
    token = sample_row(args, row, at, scratch);
  }
  if (threadIdx.x == 0) args.tokens[at] = token;
}

}  // namespace

void sample_launch(const SampleArgs& args, void* stream) {
  assert_logits(args.dtype);
  assert(args.bucket > 0 && args.vocab > 0 && args.vocab <= 1 << 23);
  const auto on = static_cast<cudaStream_t>(stream);
  const auto grid = static_cast<unsigned>(args.bucket);
  device::for_logit_kind(args.logits, args.dtype, args.vocab, [&]<Dtype kDtype, bool kVector>() {
    sample_kernel<kDtype, kVector><<<grid, device::kDrawThreads, 0, on>>>(args);
  });
}

}  // namespace refrain
