// gemm of up to 16 rows: a matrix of weights that is read once, beside activations
// that hardly count. A block a multiprocessor takes tiles of weight rows in turn; its warps
// share out k, and what they summed is put together in warp order, so an output's bits
// depend on its row of a and its row of w alone. Weights go through shared memory into the
// A fragments of m16n8k16, each thread's through slots of its own: the sum over k takes its
// terms in any order, so a lane's 16 bytes are the terms of two products, and warps meet
// only where a tile ends. Copies for the tiles to come go on meanwhile, and an early launch
// starts its first ones before it waits. Not through registers: what is under way to those
// stands in the L1, of which an early launch has only what the kernel ahead left, 28 KB
// behind attention, and that takes a third of the speed. Floor: the weights' bytes over the
// memory's bandwidth. What a layer makes of it is bench step's to say.
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "kernels/device/async_copy.cuh"
#include "kernels/device/early_start.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/vector.cuh"
#include "kernels/device_code.hpp"
#include "kernels/thin_gemm.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr int kWarps = 8, kChunk = 32;       ///< of a block; elements of k that a warp takes at once
constexpr int kChunks = kThinStep / kChunk;  ///< one behind the other, before the next warp's
static_assert(kThinRows == 16);

/// Tiles of kTile weight rows, kInFlight chunks of a warp under way, and at most kMostRows rows of a.
template <int kTile, int kInFlight, int kMostRows>
struct ThinShape {
  static constexpr int kRows = kTile, kSlots = kInFlight, kBatch = kMostRows;
  static constexpr int kWeightPieces = kRows / 8;             ///< of 16 bytes a lane and chunk: rows g, g + 8, ..
  static constexpr int kPieces = kWeightPieces + kBatch / 8;  ///< and of a, likewise
  static constexpr int kSlotBytes = kPieces * 32 * 16;
  /// Two tiles' sums, for one may still be read; rows padded so that both ways are free of bank conflicts.
  struct Parts {
    float sums[2][kWarps][kBatch][kRows + 4];
  };
  static constexpr int kRingBytes = kWarps * kSlots * kSlotBytes;
  static constexpr int kSharedBytes = kRingBytes + static_cast<int>(sizeof(Parts));
};

/// The copies of one thread, chunk after chunk, into slots of its own.
template <class Shape>
class ThinStream {
 public:
  __device__ ThinStream(const GemmArgs& args, char* shared) : args_(args) {
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
    ring_ = device::shared_address(shared) + threadIdx.x / 32 * Shape::kSlots * Shape::kSlotBytes + 16 * lane;
#pragma unroll
    for (int i = 0; i < Shape::kBatch / 8; ++i) {
      const std::int32_t row = lane / 4 + 8 * i;
      real_[i] = row < args.bucket;
      own_[i] = static_cast<const std::uint16_t*>(args.a) + std::int64_t{real_[i] ? row : 0} * args.k + 8 * (lane % 4);
    }
    first_ = static_cast<std::int32_t>(threadIdx.x) / 32 * kThinStep;
    k_ = first_;
    find_rows();
  }

  [[nodiscard]] __device__ std::uint32_t slot(int at) const {
    return ring_ + at * Shape::kSlotBytes;
  }
  /// Chunks are left, and this warp has any.
  [[nodiscard]] __device__ bool more() const {
    return k_ < args_.k && tile_ < tiles(args_);
  }
  [[nodiscard]] __device__ static std::int32_t tiles(const GemmArgs& args) {
    return (args.n + Shape::kRows - 1) / Shape::kRows;
  }
  [[nodiscard]] __device__ std::int32_t k() const {
    return k_;
  }

  __device__ void copy_weights(int at) const {
#pragma unroll
    for (int i = 0; i < Shape::kRows / 8; ++i) device::copy16_or_zero(slot(at) + 512 * i, rows_[i] + k_, true);
  }
  __device__ void copy_activations(int at, std::int32_t k) const {
#pragma unroll
    for (int i = 0; i < Shape::kBatch / 8; ++i)
      device::copy16_or_zero(slot(at) + 512 * (Shape::kWeightPieces + i), own_[i] + k, real_[i]);
  }
  __device__ void move_on() {
    k_ += kChunk;
    if (k_ % kThinStep != 0) return;
    k_ += (kWarps - 1) * kThinStep;
    if (k_ < args_.k) return;
    k_ = first_;
    tile_ += static_cast<std::int32_t>(gridDim.x);
    if (more()) find_rows();
  }

 private:
  __device__ void find_rows() {
    const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
#pragma unroll
    for (int i = 0; i < Shape::kRows / 8; ++i) {
      const std::int32_t row = min(tile_ * Shape::kRows + lane / 4 + 8 * i, args_.n - 1);
      rows_[i] = static_cast<const std::uint16_t*>(args_.w) + std::int64_t{row} * args_.k + 8 * (lane % 4);
    }
  }

  const GemmArgs& args_;
  std::uint32_t ring_;
  bool real_[Shape::kBatch / 8];
  const std::uint16_t *own_[Shape::kBatch / 8], *rows_[Shape::kRows / 8];
  std::int32_t tile_ = static_cast<std::int32_t>(blockIdx.x), first_, k_;
};

[[nodiscard]] __device__ uint4 load_piece(std::uint32_t slot, int piece) {
  uint4 out;
  asm volatile("ld.shared.v4.b32 {%0,%1,%2,%3}, [%4];"
               : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
               : "r"(slot + 512 * piece));
  return out;
}

template <class Shape>
using ThinSums = float[Shape::kRows / 16][Shape::kBatch / 8][4];

template <class Shape, bool kBf16>
__device__ void multiply(std::uint32_t slot, ThinSums<Shape>& sums) {
  uint4 a[Shape::kBatch / 8];
#pragma unroll
  for (int i = 0; i < Shape::kBatch / 8; ++i) a[i] = load_piece(slot, Shape::kWeightPieces + i);
#pragma unroll
  for (int m = 0; m < Shape::kRows / 16; ++m) {
    const uint4 low = load_piece(slot, 2 * m), high = load_piece(slot, 2 * m + 1);
#pragma unroll
    for (int i = 0; i < Shape::kBatch / 8; ++i) {
      device::mma_16x8x16<kBf16>(sums[m][i], {low.x, high.x, low.y, high.y}, a[i].x, a[i].y);
      device::mma_16x8x16<kBf16>(sums[m][i], {low.z, high.z, low.w, high.w}, a[i].z, a[i].w);
    }
  }
}

/// Puts a tile together, with all threads of the block; `half` of the parts, the other one may still be read.
template <class Shape>
__device__ void finish(const GemmArgs& args, typename Shape::Parts& parts, int half, std::int32_t tile,
                       ThinSums<Shape>& sums) {
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
#pragma unroll
  for (int m = 0; m < Shape::kRows / 16; ++m)
#pragma unroll
    for (int b = 0; b < Shape::kBatch / 8; ++b)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        parts.sums[half][warp][8 * b + 2 * t + i % 2][16 * m + g + 8 * (i / 2)] = sums[m][b][i];
        sums[m][b][i] = 0;
      }
  __syncthreads();
#pragma unroll
  for (int at = 0; at < Shape::kBatch * Shape::kRows; at += 32 * kWarps) {
    const std::int32_t row = (at + thread) / Shape::kRows, place = (at + thread) % Shape::kRows;
    const std::int32_t column = tile * Shape::kRows + place;
    if (row >= args.bucket || column >= args.n) continue;
    float sum[1] = {};
#pragma unroll
    for (int from = 0; from < kWarps; ++from) sum[0] += parts.sums[half][from][row][place];
    if (args.bias != nullptr) {
      float bias[1];
      device::load_floats<1>(args.bias, args.out_dtype, column, bias);
      sum[0] += bias[0];
    }
    device::store_floats<1>(args.out, args.out_dtype, std::int64_t{row} * args.n + column, sum);
  }
}

template <class Shape, bool kBf16>
__global__ void __launch_bounds__(32 * kWarps, 1) thin_gemm_kernel(const __grid_constant__ GemmArgs args) {
  extern __shared__ __align__(16) char shared[];
  auto& parts = *reinterpret_cast<typename Shape::Parts*>(shared + Shape::kRingBytes);
  const std::int32_t tiles = ThinStream<Shape>::tiles(args);
  ThinStream<Shape> stream(args, shared);
  std::int32_t asked[Shape::kSlots];  // k of the chunks whose weights are under way
#pragma unroll
  for (int i = 0; i < Shape::kSlots; ++i) {
    asked[i] = stream.more() ? stream.k() : -1;
    if (asked[i] < 0) continue;
    stream.copy_weights(i);
    stream.move_on();
  }
  device::wait_for_previous();
#pragma unroll
  for (int i = 0; i < Shape::kSlots; ++i) {
    if (asked[i] >= 0) stream.copy_activations(i, asked[i]);
    device::commit_copies();
  }
  ThinSums<Shape> sums = {};
  int half = 0, at = 0;
  const std::int32_t first = static_cast<std::int32_t>(threadIdx.x) / 32 * kThinStep;
  for (std::int32_t tile = static_cast<std::int32_t>(blockIdx.x); tile < tiles;
       tile += static_cast<std::int32_t>(gridDim.x)) {
    for (std::int32_t k = first; k < args.k; k += kWarps * kThinStep)
#pragma unroll
      for (int c = 0; c < kChunks; ++c) {
        device::wait_for_copies<Shape::kSlots - 1>();
        multiply<Shape, kBf16>(stream.slot(at), sums);
        if (stream.more()) {
          stream.copy_weights(at);
          stream.copy_activations(at, stream.k());
          stream.move_on();
        }
        device::commit_copies();
        at = at + 1 == Shape::kSlots ? 0 : at + 1;
      }
    finish<Shape>(args, parts, half, tile, sums);
    half ^= 1;
  }
}

template <class Shape>
void launch(const GemmArgs& args, KernelPlace place, int blocks) {
  const auto kernel = args.dtype == Dtype::bf16 ? thin_gemm_kernel<Shape, true> : thin_gemm_kernel<Shape, false>;
  // Not a stream operation, so legal in a capture; should it fail, so does the launch, and the driver reads that.
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes);
  const int tiles = (args.n + Shape::kRows - 1) / Shape::kRows;
  launch_kernel(kernel, static_cast<unsigned>(std::min(tiles, blocks)), 32 * kWarps, Shape::kSharedBytes, place, args);
}

/// Wide tiles read a half as often; narrow ones where they leave fewer multiprocessors idle in the last round.
template <int kMostRows>
void launch_tiles(const GemmArgs& args, KernelPlace place) {
  using Wide = ThinShape<32, kMostRows == 8 ? 10 : 7, kMostRows>;
  using Narrow = ThinShape<16, kMostRows == 8 ? 16 : 12, kMostRows>;
  constexpr int kMost = std::max(Wide::kSharedBytes, Narrow::kSharedBytes);
  static_assert(kMost <= 227 * 1024);
  const int blocks = std::max(multiprocessors(), 1);
  const auto rounds = [&](int rows) { return ((args.n + rows - 1) / rows - 1) / blocks + 1; };
  if (shared_bytes_a_block() < kMost) return launch<ThinShape<16, 4, kMostRows>>(args, place, blocks);
  rounds(32) * 32 <= rounds(16) * 16 ? launch<Wide>(args, place, blocks) : launch<Narrow>(args, place, blocks);
}

}  // namespace

void thin_gemm_launch(const GemmArgs& args, void* stream, bool early) {
  assert(is_thin(args) && device::aligned16(args.a, args.w));
  const KernelPlace place{static_cast<cudaStream_t>(stream), early ? Start::early : Start::after};
  args.bucket <= 8 ? launch_tiles<8>(args, place) : launch_tiles<16>(args, place);
}

}  // namespace refrain
