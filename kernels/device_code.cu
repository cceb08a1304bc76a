#include "kernels/device_code.hpp"

#include <cuda_runtime.h>

namespace refrain {
namespace {

/// Compiled as all others are.
__global__ void any_kernel() {}

}  // namespace

int code_architecture() {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, any_kernel) == cudaSuccess ? attributes.ptxVersion : 0;
}

int device_architecture() {
  int device = 0, major = 0, minor = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) != cudaSuccess)
    return 0;
  return 10 * major + minor;
}

bool has_wgmma() {
#ifdef REFRAIN_SM90A
  return device_architecture() == 90 && code_architecture() == 90;
#else
  return false;
#endif
}

}  // namespace refrain
