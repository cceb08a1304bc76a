#include "cli/device.hpp"

#include "graphs/error.hpp"
#include "runtime/host/host_driver.hpp"
#ifdef REFRAIN_HAS_CUDA
#include "runtime/cuda/make_cuda_driver.hpp"
#endif

namespace refrain {

DeviceProbe probe_cuda() {
#ifdef REFRAIN_HAS_CUDA
  if (!cuda_device_present()) return {true, false, cuda_absent_reason()};
  return {true, true, make_cuda_driver()->device().device};
#else
  return {false, false, "not looked for: this build has no CUDA driver"};
#endif
}

std::unique_ptr<Driver> make_driver(const std::string& device) {
#ifdef REFRAIN_HAS_CUDA
  if (device == "cuda" || (device == "auto" && cuda_device_present())) {
    if (!cuda_device_present())
      throw Error(ErrorKind::usage, "--device cuda", cuda_absent_reason() + "; use --device host", "");
    return make_cuda_driver();
  }
#else
  if (device == "cuda")
    throw Error(ErrorKind::usage, "--device cuda", "this build has no CUDA driver; use --device host", "");
#endif
  return std::make_unique<HostDriver>();
}

}  // namespace refrain
