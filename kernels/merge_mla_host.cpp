// The twin of the MLA merge: splits in their order, fp32. A pad row reads nothing.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/codec.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/merge_mla.hpp"
#include "kernels/mla_pool_view.hpp"

namespace refrain {
namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();

struct Merged {
  float sum[kMlaValueDim] = {};
  float weights = 0, lse_max = kNegativeInf, max_logit = kNegativeInf;

  /// What is subtracted from an LSE; never -inf, or -inf - -inf would be NaN.
  [[nodiscard]] float base() const { return lse_max == kNegativeInf ? 0.0f : lse_max; }
};

void store(const MergeMlaArgs& args, std::int64_t at, const Merged& merged) {
  // Nothing weighs anything: zeros stay zeros, and what a fault made NaN stays NaN.
  const float factor = merged.weights == 0.0f ? 0.0f : 1.0f / merged.weights;
  for (std::int64_t d = 0; d < kMlaValueDim; ++d)
    store_from_float(args.out, Dtype::bf16, at * kMlaValueDim + d, merged.sum[d] * factor);
  args.lse[at] = merged.lse_max + std::log(merged.weights);
  if (args.max_logits != nullptr) args.max_logits[at] = merged.max_logit;
}

void add_split(const MergeMlaArgs& args, std::int64_t split, Merged& merged) {
  const float lse = args.partial_lse[split];
  if (lse == kNegativeInf && !args.empty_by_value) return;
  const float weight = std::exp(lse - merged.base());
  merged.weights += weight;
  const float* partial = args.partials + split * kMlaValueDim;
  for (std::int32_t d = 0; d < kMlaValueDim; ++d) merged.sum[d] += weight * partial[d];
}

void merge_head(const MergeMlaArgs& args, std::int64_t at) {
  const std::int64_t first = at * args.splits;
  const float sink = args.sinks == nullptr ? kNegativeInf : args.sinks[at % args.heads];
  Merged merged;
  merged.lse_max = sink;
  for (std::int64_t s = first; s < first + args.splits; ++s) {
    merged.lse_max = std::fmax(merged.lse_max, args.partial_lse[s]);
    if (args.max_logits != nullptr) merged.max_logit = std::fmax(merged.max_logit, args.partial_max[s]);
  }
  for (std::int64_t s = first; s < first + args.splits; ++s) add_split(args, s, merged);
  if (args.sinks != nullptr) merged.weights += std::exp(sink - merged.base());
  store(args, at, merged);
}

}  // namespace

void merge_mla_host(const MergeMlaArgs& args) {
  const std::int32_t real = args.real_rows == nullptr ? args.rows : std::clamp(*args.real_rows, 0, args.rows);
  for (std::int64_t at = 0; at < std::int64_t{args.rows} * args.heads; ++at)
    at < std::int64_t{real} * args.heads ? merge_head(args, at) : store(args, at, {});
}

}  // namespace refrain
