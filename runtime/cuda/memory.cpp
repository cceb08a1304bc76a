// The CUDA driver's calls that take and give back memory, and those that change
// pools, limits and advice.
#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/cuda/cuda_status.hpp"

namespace refrain {
namespace {

template <class Allocate>
cudaError_t take(Call& call, Allocate allocate_bytes) {
  void* made = nullptr;
  const cudaError_t code = allocate_bytes(&made, call.bytes);
  call.address = reinterpret_cast<Address>(made);
  return code;
}

/// Registered only while the call lasts.
cudaError_t register_host(void* page) {
  const cudaError_t code = cudaHostRegister(page, Scratch::kPageBytes, cudaHostRegisterDefault);
  if (code == cudaSuccess) (void)cudaHostUnregister(page);
  return code;
}

cudaError_t set_pool_attribute(cudaMemPool_t pool) {
  std::uint64_t keep_nothing = 0;
  return cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_nothing);
}

/// Unlike other calls it does not make the device's context current in a thread that has none yet (201).
cudaError_t reset_persisting_l2() {
  if (const cudaError_t code = cudaSetDevice(0); code != cudaSuccess) return code;
  return cudaCtxResetPersistingL2Cache();
}

}  // namespace

CudaDriver::Answer CudaDriver::allocation(Call& call) {
  switch (call.api) {
    case Api::malloc: return take(call, [](void** p, std::size_t n) { return cudaMalloc(p, n); });
    case Api::malloc_host: return take(call, [](void** p, std::size_t n) { return cudaMallocHost(p, n); });
    case Api::malloc_managed:
      return take(call, [](void** p, std::size_t n) { return cudaMallocManaged(p, n, cudaMemAttachGlobal); });
    case Api::malloc_async:
      return take(call, [&](void** p, std::size_t n) { return cudaMallocAsync(p, n, stream_of(call)); });
    case Api::free: return cudaFree(pointer_of(call.address));
    case Api::free_host: return cudaFreeHost(pointer_of(call.address));
    case Api::free_async: return cudaFreeAsync(pointer_of(call.address), stream_of(call));
    case Api::host_register: return register_host(scratch_.pageable);
    default: return std::nullopt;
  }
}

CudaDriver::Answer CudaDriver::memory_settings(Call& call) {
  switch (call.api) {
    case Api::device_set_limit: return cudaDeviceSetLimit(cudaLimitStackSize, scratch_.stack_bytes);
    case Api::mem_pool_trim_to: return cudaMemPoolTrimTo(scratch_.pool, 0);
    case Api::mem_pool_set_attribute: return set_pool_attribute(scratch_.pool);
    case Api::mem_advise:
      return cudaMemAdvise(scratch_.managed, Scratch::kBytes, cudaMemAdviseSetPreferredLocation,
                           {cudaMemLocationTypeDevice, 0});
    case Api::ctx_reset_persisting_l2_cache: return reset_persisting_l2();
    case Api::device_graph_mem_trim: return cudaDeviceGraphMemTrim(0);
    default: return std::nullopt;
  }
}

}  // namespace refrain
