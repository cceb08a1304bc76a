#include <thread>

#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"
#include "tests/contract/suite.hpp"

using namespace refrain;

TEST_CASE("contract: the host driver answers every measured row as CUDA does") {
  HostDriver driver;
  const auto failures = test::contract_failures(driver);
  std::string all;
  for (const std::string& failure : failures) all += failure + "\n";
  INFO(all);
  CHECK(failures.empty());
  CHECK(test::contract_cells() > 300);
  const HostDriver::Census left = driver.census();
  CHECK(left.allocations == 0);
  CHECK(left.streams + left.events + left.graphs + left.execs + left.captures == 0);
}

TEST_CASE("contract: ending a capture from another thread is 908 and the capture is gone, but relaxed allows it") {
  for (const auto& [mode, expected] : {std::pair{CaptureMode::global, Status::capture_wrong_thread},
                                       std::pair{CaptureMode::thread_local_, Status::capture_wrong_thread},
                                       std::pair{CaptureMode::relaxed, Status::success}}) {
    HostDriver driver;
    Stream stream;
    check(driver.create_stream(stream), "cudaStreamCreateWithFlags");
    check(driver.begin_capture(stream, mode), "cudaStreamBeginCapture");
    Status seen = Status::unknown;
    GraphHandle graph;
    std::thread([&] { seen = driver.end_capture(stream, graph); }).join();
    CHECK(seen == expected);
    CHECK(driver.census().captures == 0);
    CHECK(driver.end_capture(stream, graph) == Status::illegal_state);
  }
}

TEST_CASE("contract: the suite sees a driver that lets one sync through") {
  struct Lenient final : Driver {
    HostDriver inner;
    [[nodiscard]] DeviceInfo device() const override { return inner.device(); }
    [[nodiscard]] Status submit(Call& call) override {
      return call.api == Api::device_synchronize ? Status::success : inner.submit(call);
    }
    [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
      return inner.introspect(graph, out);
    }
    [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner.identify(address, out); }
  } driver;
  // One row, three modes, both threads.
  CHECK(test::contract_failures(driver).size() == 6);
}
