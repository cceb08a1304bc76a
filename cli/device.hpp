// From `--device auto|host|cuda` to a driver.
#pragma once

#include <memory>
#include <string>

#include "runtime/driver.hpp"

namespace refrain {

/// What there is of CUDA: the parts in this build, and a device on this machine.
struct DeviceProbe {
  bool built = false, present = false;
  std::string detail = {};  ///< the device's name, or why there is none
  /// Of the device, and what those of our kernels that run there were made for: 80, 90, ...; 0: none.
  int architecture = 0, code = 0;
};
[[nodiscard]] DeviceProbe probe_cuda();

/// What the kernels that run on the device were made for, and what to do where that is less than the device, or nothing
/// of them runs. Of a device that is present.
[[nodiscard]] std::string describe_code(const DeviceProbe& probe);

/// `auto` takes the GPU where this build has CUDA and a device is there, else the host driver.
/// Throws Error{usage} for `cuda` where it cannot be had, with the reason.
[[nodiscard]] std::unique_ptr<Driver> make_driver(const std::string& device);

}  // namespace refrain
