// The twin sorts the kept ids by logit and adds their weights in fp64; the kernel
// finds the same thresholds without a sort.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/host_logits.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/row_count.hpp"
#include "kernels/sample.hpp"

namespace refrain {
namespace {

constexpr float kNegativeInf = -std::numeric_limits<float>::infinity();

class Row {
 public:
  Row(const HostLogits& row, float temperature) : row_(row), temperature_(temperature) {}

  [[nodiscard]] double weight(float logit) const {
    const float below = logit - row_.max;
    if (logit == row_.max) return 1;
    return below == kNegativeInf ? 0 : std::exp(below / temperature_);
  }

  /// The smallest logit that top-k and then top-p keep.
  [[nodiscard]] float least_kept(std::int32_t top_k, float top_p) const {
    std::vector<float> sorted = row_.logits;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    float least = kNegativeInf;
    if (top_k > 0 && static_cast<std::size_t>(top_k) < sorted.size())
      least = sorted[static_cast<std::size_t>(top_k) - 1];
    if (top_p >= 1) return least;
    double total = 0, share = 0;
    for (const float logit : sorted) total += logit >= least ? weight(logit) : 0;
    for (const float logit : sorted) {
      share += weight(logit);
      if (logit == least || share >= top_p * total) return logit;
    }
    return least;
  }

  [[nodiscard]] std::int32_t draw(float least, double u) const {
    double total = 0, sum = 0;
    for (const float logit : row_.logits) total += logit >= least ? weight(logit) : 0;
    std::int32_t last = -1;
    for (std::size_t id = 0; id < row_.logits.size(); ++id) {
      const double w = row_.logits[id] >= least ? weight(row_.logits[id]) : 0;
      if (w <= 0) continue;
      last = static_cast<std::int32_t>(id);
      sum += w;
      if (sum > u * total) return last;
    }
    return last;
  }

 private:
  const HostLogits& row_;
  float temperature_;
};

std::int32_t sample_row(const SampleArgs& args, std::int32_t at) {
  const float temperature = args.temperature[at], top_p = args.top_p[at];
  if (args.wanted != nullptr && args.wanted[at] < 0) return -1;
  if (!(temperature >= 0) || std::isnan(top_p)) return -1;
  const HostLogits logits(args.logits, args.dtype, at, args.vocab);
  if (logits.argmax < 0 || temperature == 0) return logits.argmax;
  const Row row(logits, temperature);
  const std::uint64_t* seed = args.seeds + std::int64_t{2} * at;
  return row.draw(row.least_kept(args.top_k[at], top_p), sample_uniform(seed[0], seed[1]));
}

}  // namespace

void sample_host(const SampleArgs& args) {
  const std::int32_t rows = clamp_rows(*args.rows, args.bucket);
  for (std::int32_t row = 0; row < args.bucket; ++row) args.tokens[row] = row < rows ? sample_row(args, row) : -1;
}

}  // namespace refrain
