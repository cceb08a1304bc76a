// Copies of a few kilobytes over the bus: ring_take spreads the slot's 16-byte words
// over some blocks, so that many reads of host memory are under way at once; it is
// bound by one trip to host memory (1 to 2 us) and not by bytes. ring_give is one
// block, because its sequence number must not overtake any of its stores.
#include <cassert>
#include <cstdint>

#include "kernels/launchers.hpp"
#include "kernels/step_ring.hpp"

namespace refrain {
namespace {

constexpr std::int32_t kTakeThreads = 128, kGiveThreads = 512, kMostBlocks = 64;

__device__ std::byte* slot_of(const RingView& ring, std::uint64_t step) {
  return ring.slots + step % ring.depth * ring.slot_bytes;
}

/// Whole 16-byte words, and the bytes that are left, by all given threads.
__device__ void copy_field(std::byte* to, const std::byte* from, std::uint64_t bytes, std::uint64_t thread,
                           std::uint64_t threads) {
  const std::uint64_t words = bytes / sizeof(uint4);
  for (std::uint64_t i = thread; i < words; i += threads)
    reinterpret_cast<uint4*>(to)[i] = __ldcv(reinterpret_cast<const uint4*>(from) + i);
  for (std::uint64_t i = words * sizeof(uint4) + thread; i < bytes; i += threads)
    to[i] = *const_cast<const volatile std::byte*>(from + i);
}

__global__ void __launch_bounds__(kTakeThreads) ring_take_kernel(const __grid_constant__ RingTakeArgs args) {
  const std::byte* slot = slot_of(args.ring, *args.ring.counter);
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * kTakeThreads + threadIdx.x;
  const std::uint64_t threads = std::uint64_t{gridDim.x} * kTakeThreads;
  for (std::int32_t i = 0; i < args.count; ++i) {
    const RingField& field = args.fields[i];
    copy_field(field.device, slot + field.offset, field.bytes, thread, threads);
  }
}

__global__ void __launch_bounds__(kGiveThreads) ring_give_kernel(const __grid_constant__ RingGiveArgs args) {
  const std::uint64_t step = *args.ring.counter;
  std::byte* slot = slot_of(args.ring, step);
  for (std::int32_t i = 0; i < args.count; ++i) {
    const RingField& field = args.fields[i];
    copy_field(slot + field.offset, field.device, field.bytes, threadIdx.x, kGiveThreads);
  }
  __threadfence_system();  // each thread's stores before its arrival, and so before the number
  __syncthreads();
  if (threadIdx.x != 0) return;
  *args.ring.counter = step + 1;
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(args.done + step % args.ring.depth), "l"(step + 1)
               : "memory");
}

template <class Args>
std::uint64_t bytes_of(const Args& args) {
  std::uint64_t bytes = 0;
  for (std::int32_t i = 0; i < args.count; ++i) bytes += args.fields[static_cast<std::size_t>(i)].bytes;
  return bytes;
}

}  // namespace

void ring_take_launch(const RingTakeArgs& args, void* stream) {
  assert(args.count > 0 && args.count <= kRingFields && args.ring.depth > 0);
  const std::uint64_t wanted = bytes_of(args) / (sizeof(uint4) * kTakeThreads) + 1;
  const auto blocks = static_cast<unsigned>(wanted < kMostBlocks ? wanted : kMostBlocks);
  ring_take_kernel<<<blocks, kTakeThreads, 0, static_cast<cudaStream_t>(stream)>>>(args);
}

void ring_give_launch(const RingGiveArgs& args, void* stream) {
  assert(args.count > 0 && args.count <= kRingFields && args.ring.depth > 0 && args.done != nullptr);
  ring_give_kernel<<<1, kGiveThreads, 0, static_cast<cudaStream_t>(stream)>>>(args);
}

}  // namespace refrain
