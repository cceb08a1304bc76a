// Two small kernels whose parameters the introspection test knows: a struct by
// value with pointers inside, and a launch that begins before its predecessor
// has ended (programmatic dependent launch).
#pragma once

#include <cuda_runtime_api.h>

namespace refrain::test {

/// 24 bytes: two pointers and an int.
struct Sources {
  const float* first = nullptr;
  const float* second = nullptr;
  int count = 0;
};

/// blend_kernel(out, scale, sources, bias), <<<{2, 3}, 64, 128>>>: parameters of 8, 4, 24 and 8 bytes.
cudaError_t launch_blend(float* out, int scale, Sources sources, double bias, cudaStream_t stream);
/// early_kernel(out), <<<1, 32>>>, as a programmatic dependent launch.
cudaError_t launch_early(float* out, cudaStream_t stream);

}  // namespace refrain::test
