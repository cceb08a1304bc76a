#include "cli/device.hpp"

#include <fmt/format.h>

#include "graphs/error.hpp"
#include "runtime/host/host_driver.hpp"
#ifdef REFRAIN_HAS_CUDA
#include "kernels/device_code.hpp"
#include "runtime/cuda/make_cuda_driver.hpp"
#endif

namespace refrain {

DeviceProbe probe_cuda() {
#ifdef REFRAIN_HAS_CUDA
  if (!cuda_device_present()) return {.built = true, .detail = cuda_absent_reason()};
  return {.built = true,
          .present = true,
          .detail = make_cuda_driver()->device().device,
          .architecture = device_architecture(),
          .code = code_architecture()};
#else
  return {.detail = "not looked for: this build has no CUDA driver"};
#endif
}

std::string describe_code(const DeviceProbe& probe) {
  if (probe.code == probe.architecture) return fmt::format("made for sm_{}", probe.code);
  // The kernels on wgmma are those of sm_90a alone.
  const std::string rebuild = fmt::format("; rebuild with CMAKE_CUDA_ARCHITECTURES={}{}", probe.architecture,
                                          probe.architecture == 90 ? "a" : "");
  if (probe.code == 0) return fmt::format("none in this build for sm_{}{}", probe.architecture, rebuild);
  const bool loses = probe.code < 90 && probe.architecture >= 90;
  return fmt::format("made for sm_{}, on a GPU of sm_{}{}{}", probe.code, probe.architecture,
                     loses ? ": none starts early (--pdl), and no blocks share a group" : "", rebuild);
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
