// The instructions that grouped_attention needs beside mma.cuh and async_copy.cuh:
// 8- and 16-byte shared accesses, a 4-byte copy, a barrier of some of the block's warps
// and the approximate power of two. Nothing here knows the algorithm.
#pragma once

#include <cstdint>

namespace refrain::grouped {

__device__ inline uint4 load_shared16(std::uint32_t from) {
  uint4 out;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
               : "r"(from)
               : "memory");
  return out;
}

__device__ inline void store_shared16(std::uint32_t to, uint4 four) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(four.x), "r"(four.y), "r"(four.z), "r"(four.w)
               : "memory");
}

__device__ inline float2 load_shared8(std::uint32_t from) {
  float2 out;
  asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(out.x), "=f"(out.y) : "r"(from) : "memory");
  return out;
}

__device__ inline void store_shared8(std::uint32_t to, float2 two) {
  asm volatile("st.shared.v2.f32 [%0], {%1,%2};" ::"r"(to), "f"(two.x), "f"(two.y) : "memory");
}

__device__ inline void copy4(std::uint32_t to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}

/// Barrier `id` (1 to 15; 0 is __syncthreads) of `threads`, whole warps.
__device__ inline void named_barrier(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// 2^x to 2 ulp; 0 for -inf and instead of a subnormal, NaN for NaN.
__device__ inline float exp2_approximate(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

}  // namespace refrain::grouped
