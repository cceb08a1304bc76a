#include "runtime/host/host_driver.hpp"
#include "tests/runtime/test_driver.hpp"

namespace refrain::test {

std::unique_ptr<Driver> make_test_driver() {
  return std::make_unique<HostDriver>();
}

bool starts_early() {
  return true;
}

bool holds_nothing(const Driver& driver) {
  return dynamic_cast<const HostDriver&>(driver).census() == HostDriver::Census{};
}

}  // namespace refrain::test
