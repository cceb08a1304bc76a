// What is under way when its owner goes is waited for, and no capture is in its way.
#include "runtime/owned_stream.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "runtime/runtime.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

/// Writes down which calls were made.
class ListingDriver final : public Driver {
 public:
  explicit ListingDriver(Driver& inner) : inner_(inner) {}

  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override {
    calls.push_back(call.api);
    return inner_.submit(call);
  }
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_.introspect(graph, out);
  }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }

  std::vector<Api> calls;

 private:
  Driver& inner_;
};

constexpr std::uint64_t kBytes = std::uint64_t{64} << 20;

/// Milliseconds of a device's time: nothing that goes behind it finds it done. The host's driver is done at once.
void keep_busy(Runtime& runtime, Address address) {
  const int fills = runtime.driver.device().kind == "cuda" ? 200 : 1;
  for (int i = 0; i < fills; ++i)
    check(runtime.driver.fill(address, static_cast<std::uint8_t>(i), kBytes, runtime.stream), "fill");
}

}  // namespace

TEST_CASE("owned stream: memory goes behind the last of its work, also where an exception unwinds") {
  const auto driver = test::make_test_driver();
  ListingDriver listing(*driver);
  const auto begin_and_fail = [&] {
    Runtime runtime(listing, kBytes);
    const Lease lease = runtime.arena.lease({"filled", kBytes, Role::scratch, Dtype::u8});
    keep_busy(runtime, lease.address());
    throw Error(ErrorKind::refused, "a step", "it can't be", "");
  };
  CHECK_THROWS_AS(begin_and_fail(), Error);
  const auto waited = std::find(listing.calls.begin(), listing.calls.end(), Api::stream_synchronize);
  const auto unmapped = std::find(listing.calls.begin(), listing.calls.end(), Api::mem_unmap);
  REQUIRE(unmapped != listing.calls.end());
  CHECK(waited < unmapped);
  // A fill of memory that is no longer there is an error of the context, from then on that of every call.
  CHECK(driver->synchronize_device() == Status::success);
  CHECK(test::holds_nothing(*driver));
}

TEST_CASE("owned stream: it goes during a global capture of another stream, which stays whole") {
  const auto driver = test::make_test_driver();
  const OwnedStream capturing(*driver);
  std::optional<Runtime> runtime(std::in_place, *driver, kBytes);
  {
    const Lease lease = runtime->arena.lease({"filled", kBytes, Role::scratch, Dtype::u8});
    keep_busy(*runtime, lease.address());
  }
  check(driver->begin_capture(capturing, CaptureMode::global), "cudaStreamBeginCapture");
  runtime.reset();
  GraphHandle graph;
  CHECK(driver->end_capture(capturing, graph) == Status::success);
  CHECK(driver->destroy(graph) == Status::success);
  // What the thread may do in a capture is what it was.
  CaptureMode mode = CaptureMode::thread_local_;
  CHECK(driver->exchange_capture_mode(mode) == Status::success);
  CHECK(mode == CaptureMode::global);
  CHECK(driver->exchange_capture_mode(mode) == Status::success);
  CHECK(driver->synchronize_device() == Status::success);
}
