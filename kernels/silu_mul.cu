// A thread 8 elements, a row cut into blocks of 256 threads. Floor: 3 * rows * width
// * 2 bytes over the memory's bandwidth (gate and up read, out written); the
// exponential and the division hide behind the loads. In a decode step one trip to
// memory and the launch are all there is.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/launchers.hpp"
#include "kernels/row_count.hpp"
#include "kernels/silu_mul.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kThreads = 256;

template <int V>
__global__ void __launch_bounds__(kThreads) silu_mul_kernel(const SiluMulArgs args) {
  if (!args.rest_is_done) device::start_next_and_wait();
  const auto row = static_cast<std::int32_t>(blockIdx.x);
  const bool real = row < clamp_rows(__ldcg(args.rows), args.bucket);
  if (args.rest_is_done) device::start_next_and_wait();
  const std::int64_t d = (std::int64_t{blockIdx.y} * kThreads + threadIdx.x) * V;
  if (d >= args.width) return;
  float gate[V] = {}, up[V] = {};
  if (real) {
    const std::int64_t at = 2 * std::int64_t{row} * args.width + d;
    device::load_floats<V>(args.gate_up, args.dtype, at, gate);
    device::load_floats<V>(args.gate_up, args.dtype, at + args.width, up);
  }
#pragma unroll
  for (int i = 0; i < V; ++i) gate[i] = __fdiv_rn(gate[i], 1.0f + expf(-gate[i])) * up[i];  // zeros stay zeros
  device::store_floats<V>(args.out, args.dtype, std::int64_t{row} * args.width + d, gate);
}

template <int V>
void launch(const SiluMulArgs& args, KernelPlace place) {
  const std::int32_t chunks = args.width / V;
  const dim3 grid(static_cast<unsigned>(args.bucket), static_cast<unsigned>((chunks + kThreads - 1) / kThreads));
  launch_kernel(silu_mul_kernel<V>, grid, kThreads, 0, place, args);
}

void launch_at(const SiluMulArgs& args, KernelPlace place) {
  assert_half(args.dtype);
  assert(args.bucket > 0 && args.width > 0 && args.width <= 65'535 * kThreads);
  args.width % 8 == 0 && device::aligned16(args.gate_up, args.out) ? launch<8>(args, place) : launch<1>(args, place);
}

}  // namespace

void silu_mul_launch(const SiluMulArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void silu_mul_launch_early(const SiluMulArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
