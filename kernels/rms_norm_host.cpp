// The twin sums squares in tiles, for one long fp32 sum would drift.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/row_count.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kTile = 64;

float sum_of_squares(const std::vector<float>& values) {
  float total = 0;
  for (std::size_t first = 0; first < values.size(); first += kTile) {
    float sum = 0;
    for (std::size_t i = first; i < std::min(first + kTile, values.size()); ++i) sum += values[i] * values[i];
    total += sum;
  }
  return total;
}

/// Adds x to the residual, stores the sum, and leaves in `values` what was stored.
void add_residual(const RmsNormArgs& args, std::int64_t first, std::vector<float>& values) {
  for (float& value : values) {
    const float sum = value + load_as_float(args.residual, args.dtype, first);
    store_from_float(args.residual, args.dtype, first, sum);
    value = load_as_float(args.residual, args.dtype, first++);
  }
}

void zero_row(const RmsNormArgs& args, std::int64_t first) {
  for (std::int64_t i = first; i < first + args.width; ++i) {
    store_from_float(args.out, args.dtype, i, 0);
    if (args.residual != nullptr) store_from_float(args.residual, args.dtype, i, 0);
  }
}

}  // namespace

void rms_norm_host(const RmsNormArgs& args) {
  const std::int32_t rows = clamp_rows(*args.rows, args.bucket);
  std::vector<float> weight(static_cast<std::size_t>(args.width)), values(weight.size());
  decode_to_float(args.weight, args.dtype, 0, args.width, weight.data());
  for (std::int32_t row = 0; row < args.bucket; ++row) {
    const std::int64_t first = std::int64_t{row} * args.width;
    if (row >= rows) {
      zero_row(args, first);
      continue;
    }
    decode_to_float(args.x, args.dtype, first, args.width, values.data());
    if (args.residual != nullptr) add_residual(args, first, values);
    const float scale = 1.0f / std::sqrt(sum_of_squares(values) / static_cast<float>(args.width) + args.eps);
    for (std::size_t i = 0; i < values.size(); ++i)
      store_from_float(args.out, args.dtype, first + static_cast<std::int64_t>(i), values[i] * scale * weight[i]);
  }
}

}  // namespace refrain
