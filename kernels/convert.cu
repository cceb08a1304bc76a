// A thread 8 elements, 16 bytes an access; an element at a time only where count or
// pointers are not aligned for that. Floor: 4 * count bytes over the memory's bandwidth.
#include <cassert>
#include <cstdint>

#include "kernels/convert.hpp"
#include "kernels/device/vector.cuh"
#include "kernels/launchers.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kThreads = 256;

template <int V>
__global__ void __launch_bounds__(kThreads) convert_kernel(const ConvertArgs args) {
  const std::int64_t at = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * V;
  if (at >= args.count) return;
  float values[V];
  device::load_floats<V>(args.from, args.from_dtype, at, values);
  device::store_floats<V>(args.to, args.to_dtype, at, values);
}

template <int V>
void launch(const ConvertArgs& args, cudaStream_t stream) {
  const std::int64_t blocks = (args.count / V + kThreads - 1) / kThreads;
  assert(blocks <= INT32_MAX);
  convert_kernel<V><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(args);
}

}  // namespace

void convert_launch(const ConvertArgs& args, void* stream) {
  assert_half(args.from_dtype);
  assert_half(args.to_dtype);
  assert(args.count > 0);
  const auto on = static_cast<cudaStream_t>(stream);
  const bool aligned = args.count % 8 == 0 && device::aligned16(static_cast<const std::byte*>(args.from),
                                                                static_cast<const std::byte*>(args.to));
  aligned ? launch<8>(args, on) : launch<1>(args, on);
}

}  // namespace refrain
