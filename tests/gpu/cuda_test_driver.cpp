#include <atomic>
#include <utility>

#include "kernels/device_code.hpp"
#include "runtime/cuda/make_cuda_driver.hpp"
#include "tests/runtime/test_driver.hpp"

namespace refrain::test {
namespace {

int takes(Api api) {
  switch (api) {
    case Api::malloc:
    case Api::malloc_host:
    case Api::malloc_managed:
    case Api::malloc_async:
    case Api::mem_address_reserve:
    case Api::mem_map:
    case Api::stream_create:
    case Api::event_create:
    case Api::end_capture:
    case Api::graph_instantiate: return 1;
    default: return gives_back(api) ? -1 : 0;
  }
}

/// What a CUDA context holds can't be asked; what was taken of the driver and not given back can be counted.
class CountingDriver final : public Driver {
 public:
  explicit CountingDriver(std::unique_ptr<Driver> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] DeviceInfo device() const override { return inner_->device(); }
  [[nodiscard]] Status submit(Call& call) override {
    const Status status = inner_->submit(call);
    if (status == Status::success) held_ += takes(call.api);
    return status;
  }
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_->introspect(graph, out);
  }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_->identify(address, out); }
  void begin_range(const char* name, std::uint64_t payload) noexcept override { inner_->begin_range(name, payload); }
  void end_range() noexcept override { inner_->end_range(); }

  [[nodiscard]] int held() const noexcept { return held_; }

 private:
  std::unique_ptr<Driver> inner_;
  std::atomic<int> held_{0};
};

}  // namespace

std::unique_ptr<Driver> make_test_driver() {
  return std::make_unique<CountingDriver>(make_cuda_driver());
}

bool starts_early() {
  return code_architecture() >= 90;
}

bool holds_nothing(const Driver& driver) {
  return static_cast<const CountingDriver&>(driver).held() == 0;
}

}  // namespace refrain::test
