// The twin adds products in 16 lanes and blocks of 256, so that an fp32 sum of
// thousands drifts no further than the MMA's does.
#include <algorithm>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/gemm.hpp"
#include "kernels/host_twins.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kLanes = 16, kBlock = 256;

float sum_of_block(const float* a, const float* w, std::int32_t count) {
  float lanes[kLanes] = {};
  std::int32_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (std::int32_t lane = 0; lane < kLanes; ++lane) lanes[lane] += a[i + lane] * w[i + lane];
  for (std::int32_t lane = 0; i < count; ++i, ++lane) lanes[lane] += a[i] * w[i];
  for (std::int32_t width = kLanes / 2; width > 0; width /= 2)
    for (std::int32_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  return lanes[0];
}

float dot(const float* a, const float* w, std::int32_t k) {
  float total = 0;
  for (std::int32_t first = 0; first < k; first += kBlock)
    total += sum_of_block(a + first, w + first, std::min(kBlock, k - first));
  return total;
}

}  // namespace

void gemm_host(const GemmArgs& args) {
  const auto k = static_cast<std::size_t>(args.k);
  std::vector<float> a(static_cast<std::size_t>(args.bucket) * k), w(k);
  decode_to_float(args.a, args.dtype, 0, std::int64_t{args.bucket} * args.k, a.data());
  for (std::int32_t column = 0; column < args.n; ++column) {
    decode_to_float(args.w, args.dtype, std::int64_t{column} * args.k, args.k, w.data());
    const float bias = args.bias == nullptr ? 0 : load_as_float(args.bias, args.out_dtype, column);
    for (std::int64_t row = 0; row < args.bucket; ++row)
      store_from_float(args.out, args.out_dtype, row * args.n + column,
                       dot(a.data() + row * args.k, w.data(), args.k) + bias);
  }
}

}  // namespace refrain
