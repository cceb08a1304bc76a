#include "kernels/device_code.hpp"

#include <cuda_runtime.h>

namespace refrain {
namespace {

/// Compiled as all others are.
__global__ void any_kernel() {}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  const bool known =
      cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&value, which, device) == cudaSuccess;
  return known ? value : 0;
}

}  // namespace

int code_architecture() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, any_kernel) == cudaSuccess ? attributes.ptxVersion : 0;
}

int device_architecture() {
  return 10 * attribute(cudaDevAttrComputeCapabilityMajor) + attribute(cudaDevAttrComputeCapabilityMinor);
}

int multiprocessors() {
  return attribute(cudaDevAttrMultiProcessorCount);
}

int shared_bytes_a_block() {
  return attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
}

bool has_wgmma() {
#ifdef REFRAIN_SM90A
  return device_architecture() == 90 && code_architecture() == 90;
#else
  return false;
#endif
}

}  // namespace refrain
