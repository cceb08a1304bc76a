// 16-byte copies from global to shared memory that complete in groups, a thread
// for itself (cp.async, sm_80 and later). Bytes that must not be read are
// zero-filled by the copy itself. Not a barrier: after a wait, the threads that
// share the bytes still have to meet.
#pragma once

#include <cstdint>

namespace refrain::device {

/// The address that shared-memory instructions take.
[[nodiscard]] __device__ inline std::uint32_t shared_address(const void* shared) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
}

/// Both addresses are multiples of 16. With `wanted` false nothing is read and 16 zeros are written.
__device__ inline void copy16_or_zero(std::uint32_t to, const void* from, bool wanted) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(wanted ? 16 : 0)
               : "memory");
}

/// The same for bytes that nobody reads again soon: they leave the L2 first.
__device__ inline void copy16_once_or_zero(std::uint32_t to, const void* from, bool wanted, std::uint64_t policy) {
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from),
               "r"(wanted ? 16 : 0), "l"(policy)
               : "memory");
}

/// What copy16_once_or_zero takes.
[[nodiscard]] __device__ inline std::uint64_t policy_once() {
  std::uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ inline void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/// Until at most `Pending` of this thread's groups are under way.
template <int Pending>
__device__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// This thread's arrival at an mbarrier, once all copies that it has started are done. It carries no other write of
/// the thread, and the phase has to expect it.
__device__ inline void arrive_when_copied(std::uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
}

}  // namespace refrain::device
