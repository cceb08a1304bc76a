// One block a row, a thread 16 bytes at a time; an element at a time only where
// width or pointers are not aligned for that. Floor: 2 * rows * width * 2 bytes over
// the memory's bandwidth (each row read once and written once). A decode step's few
// rows are far below it: there the kernel is two dependent loads, the id and the
// row, and its launch.
#include <cassert>
#include <cstdint>

#include "kernels/device/vector.cuh"
#include "kernels/embed.hpp"
#include "kernels/launchers.hpp"
#include "kernels/row_count.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kThreads = 256;

/// A row is `words` Words.
template <class Word>
__global__ void __launch_bounds__(kThreads) embed_kernel(const EmbedArgs args, std::int32_t words) {
  const auto row = static_cast<std::int32_t>(blockIdx.x);
  const std::int32_t id = row < clamp_rows(*args.rows, args.bucket) ? args.ids[row] : -1;
  const bool known = id >= 0 && id < args.vocab;
  const Word* from = static_cast<const Word*>(args.table) + (known ? std::int64_t{id} * words : 0);
  Word* to = static_cast<Word*>(args.out) + std::int64_t{row} * words;
#pragma unroll 4
  for (auto at = static_cast<std::int32_t>(threadIdx.x); at < words; at += kThreads)
    to[at] = known ? __ldg(from + at) : Word{};
}

}  // namespace

void embed_launch(const EmbedArgs& args, void* stream) {
  assert_half(args.dtype);
  assert(args.bucket > 0 && args.vocab > 0 && args.width > 0);
  const auto on = static_cast<cudaStream_t>(stream);
  const auto grid = static_cast<unsigned>(args.bucket);
  if (args.width % 8 == 0 && device::aligned16(args.table, args.out))
    embed_kernel<uint4><<<grid, kThreads, 0, on>>>(args, args.width / 8);
  else
    embed_kernel<std::uint16_t><<<grid, kThreads, 0, on>>>(args, args.width);
}

}  // namespace refrain
