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

bool has_wgmma() {
#ifdef REFRAIN_SM90A
  int device = 0, major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 9 &&
         code_architecture() == 90;
#else
  return false;
#endif
}

}  // namespace refrain
