// Barriers in shared memory that count arrivals and turn over a phase at a time
// (sm_80 and later): how warps with different work hand stages to each other. Waiting
// is by the parity of the phase; a fresh barrier is in phase 0, so waiting for parity
// 1 returns at once.
#pragma once

#include <cstdint>

namespace refrain::device {

/// By one thread; the others may use it after a block barrier.
__device__ inline void init_barrier(std::uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

/// Releases what this thread wrote, and what it has seen of others.
__device__ inline void arrive(std::uint32_t barrier) {
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(barrier) : "memory");
}

[[nodiscard]] __device__ inline bool has_turned(std::uint32_t barrier, std::uint32_t parity) {
  std::uint32_t turned;
  asm volatile(
      "{ .reg .pred p;\n"
#if __CUDA_ARCH__ >= 900
      "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
#else
      "mbarrier.test_wait.parity.shared.b64 p, [%1], %2;\n"
#endif
      "selp.u32 %0, 1, 0, p; }"
      : "=r"(turned)
      : "r"(barrier), "r"(parity)
      : "memory");
  return turned != 0;
}

/// Until the phase of that parity is complete; acquires what was released to it.
__device__ inline void wait_for_turn(std::uint32_t barrier, std::uint32_t parity) {
  while (!has_turned(barrier, parity)) {
  }
}

}  // namespace refrain::device
