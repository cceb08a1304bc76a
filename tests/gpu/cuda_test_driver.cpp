#include "runtime/cuda/make_cuda_driver.hpp"
#include "tests/runtime/test_driver.hpp"

namespace refrain::test {

std::unique_ptr<Driver> make_test_driver() {
  return make_cuda_driver();
}

// What a context holds is not to be counted from outside; the host driver's tests count.
bool holds_nothing(const Driver&) {
  return true;
}

}  // namespace refrain::test
