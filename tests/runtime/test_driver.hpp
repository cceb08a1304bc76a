// The driver that the step tests run on: host_test_driver.cpp makes the host one,
// tests/gpu/cuda_test_driver.cpp the CUDA one, and the tests are the same.
#pragma once

#include <memory>

#include "runtime/driver.hpp"

namespace refrain::test {

[[nodiscard]] std::unique_ptr<Driver> make_test_driver();
/// Whether what is launched early starts early: on the device, where the kernels' code waits.
[[nodiscard]] bool starts_early();
/// True when the driver holds nothing any more, as far as it can tell.
[[nodiscard]] bool holds_nothing(const Driver& driver);

}  // namespace refrain::test
