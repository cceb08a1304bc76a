#include <cassert>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/merge_partials.hpp"

namespace refrain {
namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

void store_row(const MergePartialsArgs& args, std::int64_t at, float value, float lse) {
  for (std::int32_t d = 0; d < args.dim; ++d) store_from_float(args.out, args.out_dtype, at * args.dim + d, value);
  args.lse[at] = lse;
}

/// Merges the first `splits` splits of head `from` (slot x heads + head) into row-head `at`, in split order.
void merge_head(const MergePartialsArgs& args, std::int64_t from, std::int64_t at, std::int32_t splits) {
  const float* lse = args.partial_lse + from * args.partitions;
  float max = kNegativeInf;
  for (std::int32_t p = 0; p < splits; ++p) max = std::fmax(max, lse[p]);
  const float base = max == kNegativeInf ? 0.0f : max;
  const auto dim = static_cast<std::size_t>(args.dim);
  std::vector<float> sum(dim), partial(dim);
  float weights = 0;
  for (std::int32_t p = 0; p < splits; ++p) {
    const float weight = std::exp(lse[p] - base);
    weights += weight;
    decode_to_float(args.partials, args.partial_dtype, (from * args.partitions + p) * args.dim, args.dim,
                    partial.data());
    for (std::size_t d = 0; d < dim; ++d) sum[d] += weight * partial[d];
  }
  for (std::size_t d = 0; d < dim; ++d)
    store_from_float(args.out, args.out_dtype, at * args.dim + static_cast<std::int64_t>(d), sum[d] / weights);
  args.lse[at] = max + std::log(weights);
}

}  // namespace

void merge_partials_host(const MergePartialsArgs& args) {
  for (std::int32_t slot = 0; slot < args.slots; ++slot) {
    const std::int32_t row = args.every_row ? slot : args.slot_rows[slot];
    if (row < 0) continue;
    assert(row < args.bucket && args.lengths[slot] >= 0);
    const std::int64_t needed = (std::int64_t{args.lengths[slot]} + args.partition_tokens - 1) / args.partition_tokens;
    for (std::int32_t head = 0; head < args.heads; ++head) {
      const std::int64_t from = std::int64_t{slot} * args.heads + head, at = std::int64_t{row} * args.heads + head;
      if (args.counters[from] != needed || needed > args.partitions) {
        store_row(args, at, kNan, kNan);
      } else if (needed == 0) {
        store_row(args, at, 0.0f, kNegativeInf);
      } else {
        merge_head(args, from, at, static_cast<std::int32_t>(needed));
      }
    }
  }
}

}  // namespace refrain
