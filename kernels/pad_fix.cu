// Reads every mask, stores only where a mask is 0: four columns a thread where
// width and pointers allow, one otherwise. Column 0 is never stored (it would be
// its own value), so all blocks of a group may read it while others store.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/launchers.hpp"
#include "kernels/pad_fix.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kThreads = 256;

template <int V>
__global__ void __launch_bounds__(kThreads) pad_fix_kernel(const PadFixArgs args, std::int64_t blocks_per_group) {
  device::wait_for_previous();
  const std::int64_t group = blockIdx.x / blocks_per_group;
  const std::int64_t first = (blockIdx.x % blocks_per_group * kThreads + threadIdx.x) * V;
  if (first >= args.width) return;
  std::int32_t* blocks = args.microblocks + group * args.width;
  const std::uint32_t* masks = args.masks + group * args.width;
  if constexpr (V == 4) {
    const uint4 mask = *reinterpret_cast<const uint4*>(masks + first);
    if (mask.x != 0 && mask.y != 0 && mask.z != 0 && mask.w != 0) return;
    const std::int32_t head = blocks[0];
    if (first != 0 && (mask.x | mask.y | mask.z | mask.w) == 0) {
      // The intrinsic, because the compiler takes a plain vector store apart to share code with the stores below.
      __stcg(reinterpret_cast<int4*>(blocks + first), make_int4(head, head, head, head));
      return;
    }
    if (first != 0 && mask.x == 0) blocks[first] = head;
    if (mask.y == 0) blocks[first + 1] = head;
    if (mask.z == 0) blocks[first + 2] = head;
    if (mask.w == 0) blocks[first + 3] = head;
  } else {
    if (first != 0 && masks[first] == 0) blocks[first] = blocks[0];
  }
}

template <int V>
void launch(const PadFixArgs& args, KernelPlace place) {
  const std::int64_t blocks_per_group = (args.width + kThreads * V - 1) / (kThreads * V);
  assert(args.groups * blocks_per_group <= INT32_MAX);
  const auto grid = static_cast<unsigned>(args.groups * blocks_per_group);
  launch_kernel(pad_fix_kernel<V>, grid, kThreads, 0, place, args, blocks_per_group);
}

void launch_at(const PadFixArgs& args, KernelPlace place) {
  assert(args.groups >= 0 && args.width > 0);
  if (args.groups == 0) return;  // a grid of 0 blocks is an error
  const auto at = reinterpret_cast<std::uintptr_t>(args.microblocks) | reinterpret_cast<std::uintptr_t>(args.masks);
  const bool aligned = args.width % 4 == 0 && at % 16 == 0;
  aligned ? launch<4>(args, place) : launch<1>(args, place);
}

}  // namespace

void pad_fix_launch(const PadFixArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void pad_fix_launch_early(const PadFixArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
