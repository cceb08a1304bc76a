// Filling and plain reading, 16 bytes an access, eight reads of a thread under way.
#include "bench/gpu_kernels.hpp"

namespace refrain::bench {
namespace {

constexpr int kThreads = 512, kUnroll = 8;

__device__ std::uint32_t hash(std::uint64_t at, std::uint32_t seed) {
  std::uint64_t x = at * 0x9E3779B97F4A7C15ull + seed;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return static_cast<std::uint32_t>(x >> 32);
}

/// Random bits with the exponent's top bits chosen so that the value is finite and below 2: sign and mantissa stay.
__device__ std::uint32_t finite_word(std::uint32_t bits, Dtype dtype) {
  switch (dtype) {
    case Dtype::e4m3: return (bits & 0x8F8F8F8Fu) | 0x30303030u;  // exponent 6 or 7: 0.5 to 2
    case Dtype::fp16: return (bits & 0x87FF87FFu) | 0x38003800u;  // exponent 14 or 15
    case Dtype::bf16: return (bits & 0x80FF80FFu) | 0x3F003F00u;  // exponent 126 or 127
    default: return (bits & 0x80FFFFFFu) | 0x3F000000u;
  }
}

__global__ void __launch_bounds__(kThreads)
    fill_kernel(uint4* data, Dtype dtype, std::int64_t count, std::uint32_t seed) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    std::uint32_t words[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = finite_word(hash(static_cast<std::uint64_t>(4 * i + w), seed), dtype);
    data[i] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

__global__ void __launch_bounds__(kThreads) read_kernel(const uint4* data, std::int64_t count, std::uint32_t* sink) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * kUnroll;
  std::uint32_t seen = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads * kUnroll + threadIdx.x; i < count; i += step) {
    uint4 got[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u)
      got[u] = i + u * kThreads < count ? __ldcs(data + i + u * kThreads) : make_uint4(0, 0, 0, 0);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) seen |= got[u].x ^ got[u].y ^ got[u].z ^ got[u].w;
  }
  if (seen == 0x5EED5EEDu) *sink = seen;  // keeps the reads
}

/// `passes` times over all of it, past the L1. `count` is a power of two.
__global__ void __launch_bounds__(kThreads)
    reread_kernel(const uint4* data, std::int64_t count, int passes, std::uint32_t* sink) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * kUnroll;
  std::uint32_t seen = 0;
  for (std::int64_t i = 0; i < passes * count; i += step) {
    const std::int64_t first = i + std::int64_t{blockIdx.x} * kThreads * kUnroll + threadIdx.x;
    uint4 got[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) got[u] = __ldcg(data + (first + u * kThreads & count - 1));
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) seen |= got[u].x ^ got[u].y ^ got[u].z ^ got[u].w;
  }
  if (seen == 0x5EED5EEDu) *sink = seen;
}

}  // namespace

void launch_fill(void* data, Dtype dtype, std::int64_t bytes, std::uint32_t seed, cudaStream_t stream) {
  fill_kernel<<<2048, kThreads, 0, stream>>>(static_cast<uint4*>(data), dtype, bytes / 16, seed);
}

void launch_read(const void* data, std::int64_t bytes, int blocks, std::uint32_t* sink, cudaStream_t stream) {
  const std::int64_t pieces = (bytes / 16 + kThreads * kUnroll - 1) / (kThreads * kUnroll);
  read_kernel<<<static_cast<unsigned>(pieces < blocks ? pieces : blocks), kThreads, 0, stream>>>(
      static_cast<const uint4*>(data), bytes / 16, sink);
}

void launch_reread(const void* data, std::int64_t bytes, int passes, int blocks, std::uint32_t* sink,
                   cudaStream_t stream) {
  reread_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(static_cast<const uint4*>(data), bytes / 16,
                                                                        passes, sink);
}

}  // namespace refrain::bench
