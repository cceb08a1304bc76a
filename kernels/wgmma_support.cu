#include "kernels/wgmma_support.hpp"

#include <cuda_runtime.h>

namespace refrain {

bool has_wgmma() {
#ifdef REFRAIN_SM90A
  int device = 0, major = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess && major == 9;
#else
  return false;
#endif
}

}  // namespace refrain
