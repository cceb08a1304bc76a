// The door to the CUDA driver for code that knows no CUDA type. A program that
// links it starts without a GPU and without libcuda, and can say so.
#pragma once

#include <memory>
#include <string>

#include "runtime/driver.hpp"

namespace refrain {

/// A GPU is there, its driver is new enough, and this build has code for it.
[[nodiscard]] bool cuda_device_present();
/// Why not, as one line; empty when there is one.
[[nodiscard]] std::string cuda_absent_reason();
/// On the first visible device. Throws Error{driver} with one line.
[[nodiscard]] std::unique_ptr<Driver> make_cuda_driver();

}  // namespace refrain
