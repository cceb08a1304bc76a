#include "tests/gpu/introspect_kernels.hpp"

namespace refrain::test {
namespace {

__global__ void blend_kernel(float* out, int scale, Sources sources, double bias) {
  const unsigned int block = blockIdx.y * gridDim.x + blockIdx.x;
  const int at = static_cast<int>(block * blockDim.x + threadIdx.x);
  if (at < sources.count)
    out[at] = static_cast<float>(scale) * sources.first[at] + sources.second[at] + static_cast<float>(bias);
}

__global__ void early_kernel(float* out) {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  if (threadIdx.x == 0) out[0] += 1.0f;
}

}  // namespace

cudaError_t launch_blend(float* out, int scale, Sources sources, double bias, cudaStream_t stream) {
  blend_kernel<<<dim3(2, 3), 64, 128, stream>>>(out, scale, sources, bias);
  return cudaGetLastError();
}

cudaError_t launch_early(float* out, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* arguments[] = {&out};
  return cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(&early_kernel), arguments);
}

}  // namespace refrain::test
