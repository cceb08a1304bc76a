// The GPU tests' own main: without a device it says so and returns 77, which
// ctest counts as skipped, not as passed.
#include <cuda_runtime_api.h>

#include <cstdio>

#define CATCH_CONFIG_RUNNER
#include "tests/catch.hpp"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found != cudaSuccess || devices == 0) {
    std::printf("SKIPPED: no CUDA device (%s)\n", cudaGetErrorString(found));
    return kSkipped;
  }
  return Catch::Session().run(argc, argv);
}
