#include "runtime/cuda/make_cuda_driver.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "runtime/cuda/cuda_driver.hpp"
#include "runtime/cuda/cuda_status.hpp"
#include "runtime/cuda/probe.hpp"

namespace refrain {
namespace {

/// The text is CUDA's, e.g. `no CUDA-capable device is detected`.
std::string reason(const char* what, cudaError_t code) {
  (void)cudaGetLastError();
  return fmt::format("{}: {}", what, cudaGetErrorString(code));
}

/// All of this build's kernels are loaded with the context, so that none is loaded during a capture or in a step. CUDA
/// reads this once, at its first call, which is why whoever asks for a device comes by here first; who set it
/// otherwise, or called CUDA before, keeps what he has.
void load_eagerly() {
  (void)::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

}  // namespace

std::string cuda_absent_reason() {
  load_eagerly();
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) return reason("no CUDA device", code);
  if (count == 0) return "no CUDA device is visible";
  cudaFuncAttributes attributes{};
  const cudaError_t code = cudaFuncGetAttributes(&attributes, probe_kernel());
  return code == cudaSuccess ? "" : reason("this build does not run on the CUDA device", code);
}

bool cuda_device_present() {
  return cuda_absent_reason().empty();
}

std::unique_ptr<Driver> make_cuda_driver() {
  if (const std::string why = cuda_absent_reason(); !why.empty())
    throw Error(ErrorKind::driver, "CUDA driver", why, "");
  return std::make_unique<CudaDriver>();
}

}  // namespace refrain
