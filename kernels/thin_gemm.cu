// gemm of up to eight rows: a matrix of weights that is read once, beside activations
// that hardly count. A block has 32 weight rows, its warps share out k, and what they
// summed is put together in warp order, so an output's bits depend on its row of a and
// its row of w alone. Weights go straight from memory to the A fragments of m16n8k16: the
// sum over k takes its terms in any order, so a lane's 16 bytes are the terms of two
// products. An early launch asks for its first weights before it waits. Floor: the
// weights' bytes over the memory's bandwidth. What limits on an H200, as ncu showed once:
// 0.93 of it over 4,008 blocks, 0.86 over 896, and 0.6 to 0.8 where start and end of one
// wave of blocks count. What a layer makes of it is bench step's to say. Sixteen warps for
// one wave gave nothing.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/thin_gemm.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr int kWarps = 8, kRows = 32;    ///< of a block; of weights
constexpr int kChunks = 4, kChunk = 32;  ///< that a warp has under way; elements of each
constexpr int kStride = 36;              ///< floats a batch row in shared memory; free of conflicts both ways
static_assert(kChunks * kChunk == kThinStep && kThinRows == 8);

[[nodiscard]] __device__ uint4 load_once(const std::uint16_t* from) {
  uint4 out;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
               : "l"(from));
  return out;
}

/// Weight rows g, g + 8, g + 16 and g + 24 of a step, eight elements a lane and chunk.
struct Weights {
  uint4 data[kChunks][4];

  __device__ void load(const std::uint16_t* const (&rows)[4], std::int32_t step) {
#pragma unroll
    for (int c = 0; c < kChunks; ++c)
#pragma unroll
      for (int i = 0; i < 4; ++i) data[c][i] = load_once(rows[i] + std::int64_t{step} * kThinStep + c * kChunk);
  }
};

template <bool kBf16>
__device__ void multiply(const Weights& w, const uint4 (&a)[kChunks], float (&sums)[2][4]) {
#pragma unroll
  for (int c = 0; c < kChunks; ++c)
#pragma unroll
    for (int m = 0; m < 2; ++m) {
      const uint4 &low = w.data[c][2 * m], &high = w.data[c][2 * m + 1];
      device::mma_16x8x16<kBf16>(sums[m], {low.x, high.x, low.y, high.y}, a[c].x, a[c].y);
      device::mma_16x8x16<kBf16>(sums[m], {low.z, high.z, low.w, high.w}, a[c].z, a[c].w);
    }
}

template <bool kBf16>
__global__ void __launch_bounds__(32 * kWarps, 2) thin_gemm_kernel(const GemmArgs args) {
  const auto warp = static_cast<std::int32_t>(threadIdx.x) / 32, lane = static_cast<std::int32_t>(threadIdx.x) % 32;
  const std::int32_t g = lane / 4, t = lane % 4, first = static_cast<std::int32_t>(blockIdx.x) * kRows;
  const std::int32_t steps = args.k / kThinStep;
  const std::uint16_t* rows[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    rows[i] =
        static_cast<const std::uint16_t*>(args.w) + std::int64_t{min(first + g + 8 * i, args.n - 1)} * args.k + 8 * t;
  Weights w;
  if (warp < steps) w.load(rows, warp);
  device::wait_for_previous();
  const auto* own = static_cast<const std::uint16_t*>(args.a) + std::int64_t{g} * args.k + 8 * t;
  float sums[2][4] = {};
  for (std::int32_t step = warp; step < steps; step += kWarps) {
    if (step != warp) w.load(rows, step);
    uint4 a[kChunks] = {};
    if (g < args.bucket)
#pragma unroll
      for (int c = 0; c < kChunks; ++c)
        a[c] = *reinterpret_cast<const uint4*>(own + std::int64_t{step} * kThinStep + c * kChunk);
    multiply<kBf16>(w, a, sums);
  }
  __shared__ float parts[kWarps][kThinRows][kStride];
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int i = 0; i < 4; ++i) parts[warp][2 * t + i % 2][16 * m + g + 8 * (i / 2)] = sums[m][i];
  __syncthreads();
  // A warp a batch row, a lane a weight row.
  const std::int32_t column = first + lane;
  if (warp >= args.bucket || column >= args.n) return;
  float sum[1] = {};
#pragma unroll
  for (int from = 0; from < kWarps; ++from) sum[0] += parts[from][warp][lane];
  if (args.bias != nullptr) {
    float bias[1];
    device::load_floats<1>(args.bias, args.out_dtype, column, bias);
    sum[0] += bias[0];
  }
  device::store_floats<1>(args.out, args.out_dtype, std::int64_t{warp} * args.n + column, sum);
}

}  // namespace

void thin_gemm_launch(const GemmArgs& args, void* stream, bool early) {
  assert(is_thin(args) && device::aligned16(args.a, args.w));
  const KernelPlace place{static_cast<cudaStream_t>(stream), early ? Start::early : Start::after};
  const auto blocks = static_cast<unsigned>((args.n + kRows - 1) / kRows);
  const auto kernel = args.dtype == Dtype::bf16 ? thin_gemm_kernel<true> : thin_gemm_kernel<false>;
  launch_kernel(kernel, blocks, 32 * kWarps, 0, place, args);
}

}  // namespace refrain
