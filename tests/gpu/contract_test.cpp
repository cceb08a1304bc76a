// The capture-rules contract on CUDA itself: what the host driver is held to
// must be what this GPU's driver does.
#include <string>
#include <thread>
#include <utility>

#include "runtime/cuda/make_cuda_driver.hpp"
#include "tests/catch.hpp"
#include "tests/contract/suite.hpp"

using namespace refrain;

TEST_CASE("contract on CUDA: every row answers as it was measured") {
  const auto driver = make_cuda_driver();
  const auto failures = test::contract_failures(*driver);
  std::string all;
  for (const std::string& failure : failures) all += failure + "\n";
  INFO(all);
  CHECK(failures.empty());
}

TEST_CASE("contract on CUDA: ending a capture from another thread is 908, but relaxed allows it") {
  const auto driver = make_cuda_driver();
  for (const auto& [mode, expected] : {std::pair{CaptureMode::global, Status::capture_wrong_thread},
                                       std::pair{CaptureMode::thread_local_, Status::capture_wrong_thread},
                                       std::pair{CaptureMode::relaxed, Status::success}}) {
    Stream stream;
    check(driver->create_stream(stream), "cudaStreamCreateWithFlags");
    check(driver->begin_capture(stream, mode), "cudaStreamBeginCapture");
    Status seen = Status::unknown;
    GraphHandle graph;
    std::thread([&] { seen = driver->end_capture(stream, graph); }).join();
    CHECK(seen == expected);
    if (seen == Status::success) CHECK(driver->destroy(graph) == Status::success);
    CHECK(driver->destroy_stream(stream) == Status::success);
  }
}

TEST_CASE("CUDA driver: a refused call leaves no error behind for the next one") {
  const auto driver = make_cuda_driver();
  Stream stream;
  check(driver->create_stream(stream), "cudaStreamCreateWithFlags");
  CHECK(driver->release(0x10, MemorySpace::device) == Status::invalid_value);
  const OpLaunch op{"nothing", {}, {}};
  CHECK(driver->launch(op, stream) == Status::success);
  CHECK(driver->synchronize(stream) == Status::success);
  CHECK(driver->destroy_stream(stream) == Status::success);
}

TEST_CASE("CUDA driver: an op that has a host twin and no kernel is refused, not passed over") {
  const auto driver = make_cuda_driver();
  const OpLaunch op{"twin", [] {}, {}};
  CHECK(driver->launch(op, Stream{}) == Status::not_supported);
}

TEST_CASE("CUDA driver: the frontier is the node just captured, and the finished graph names it") {
  const auto driver = make_cuda_driver();
  Stream stream;
  check(driver->create_stream(stream), "cudaStreamCreateWithFlags");
  check(driver->begin_capture(stream, CaptureMode::global), "cudaStreamBeginCapture");
  const OpLaunch op{"nothing", {}, {}};
  std::vector<std::uint64_t> frontier, both;
  check(driver->launch(op, stream), "launch");
  check(driver->capture_frontier(stream, frontier), "cudaStreamGetCaptureInfo");
  check(driver->launch(op, stream), "launch");
  check(driver->capture_frontier(stream, both), "cudaStreamGetCaptureInfo");
  GraphHandle graph;
  check(driver->end_capture(stream, graph), "cudaStreamEndCapture");
  Introspection inside;
  check(driver->introspect(graph, inside), "reading the captured graph");
  REQUIRE(frontier.size() == 1);
  REQUIRE(both.size() == 1);
  REQUIRE(inside.handles.size() == 2);
  REQUIRE(inside.graph.edges.size() == 1);
  CHECK(inside.handles[inside.graph.edges[0].from] == frontier[0]);
  CHECK(inside.handles[inside.graph.edges[0].to] == both[0]);
  CHECK(driver->destroy(graph) == Status::success);
  CHECK(driver->destroy_stream(stream) == Status::success);
}

TEST_CASE("CUDA driver: the device says what it is") {
  const DeviceInfo info = make_cuda_driver()->device();
  CHECK(info.kind == "cuda");
  CHECK_FALSE(info.device.empty());
  CHECK(info.driver.find('.') != std::string::npos);
  CHECK(info.toolkit.find('.') != std::string::npos);
  CHECK(cuda_absent_reason().empty());
}
