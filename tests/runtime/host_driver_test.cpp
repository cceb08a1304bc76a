#include "runtime/host/host_driver.hpp"

#include <cstring>
#include <thread>

#include "tests/catch.hpp"

using namespace refrain;

namespace {

struct Fixture {
  Fixture() {
    check(driver.create_stream(stream), "cudaStreamCreateWithFlags");
    check(driver.create_stream(side), "cudaStreamCreateWithFlags");
    check(driver.allocate(64, MemorySpace::device, memory), "cudaMalloc");
  }
  [[nodiscard]] std::uint8_t* bytes() const { return reinterpret_cast<std::uint8_t*>(memory); }
  OpLaunch add_one() {
    return {"add_one", [this] { ++bytes()[0]; }, {}};
  }

  HostDriver driver;
  Stream stream, side;
  Address memory = 0;
};

}  // namespace

TEST_CASE("host driver: captured work runs at each launch and not during the capture") {
  Fixture f;
  std::memset(f.bytes(), 0, 64);
  const OpLaunch op = f.add_one();
  check(f.driver.begin_capture(f.stream, CaptureMode::global), "begin");
  check(f.driver.launch(op, f.stream), "launch");
  check(f.driver.launch(op, f.stream), "launch");
  CHECK(f.bytes()[0] == 0);
  GraphHandle graph;
  check(f.driver.end_capture(f.stream, graph), "end");
  ExecHandle exec;
  check(f.driver.instantiate(graph, exec), "instantiate");
  check(f.driver.launch(exec, f.stream), "launch");
  CHECK(f.bytes()[0] == 2);
  check(f.driver.launch(exec, f.stream), "launch");
  CHECK(f.bytes()[0] == 4);
}

TEST_CASE("host driver: a launch on another stream during a capture runs at once, in silence") {
  Fixture f;
  std::memset(f.bytes(), 0, 64);
  const OpLaunch op = f.add_one();
  check(f.driver.begin_capture(f.stream, CaptureMode::global), "begin");
  CHECK(f.driver.launch(op, f.side) == Status::success);
  CHECK(f.bytes()[0] == 1);
  GraphHandle graph;
  CHECK(f.driver.end_capture(f.stream, graph) == Status::success);
  Introspection inside;
  check(f.driver.introspect(graph, inside), "introspect");
  CHECK(inside.graph.nodes.empty());
}

TEST_CASE("host driver: synchronising the capturing stream is refused with 900 and the end gives 901") {
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed}) {
    Fixture f;
    check(f.driver.begin_capture(f.stream, mode), "begin");
    CHECK(f.driver.synchronize(f.stream) == Status::capture_unsupported);
    const OpLaunch op = f.add_one();
    CHECK(f.driver.launch(op, f.stream) == Status::capture_invalidated);
    GraphHandle graph;
    CHECK(f.driver.end_capture(f.stream, graph) == Status::capture_invalidated);
    CHECK(f.driver.census().captures == 0);
    CHECK(f.driver.census().graphs == 0);
  }
}

TEST_CASE("host driver: another thread's cudaMalloc kills a global capture and leaves a thread_local one alone") {
  for (const auto& [mode, expected] : {std::pair{CaptureMode::global, Status::capture_unsupported},
                                       std::pair{CaptureMode::thread_local_, Status::success}}) {
    Fixture f;
    check(f.driver.begin_capture(f.stream, mode), "begin");
    Status seen = Status::unknown;
    std::thread other([&] {
      Address address = 0;
      seen = f.driver.allocate(64, MemorySpace::device, address);
    });
    other.join();
    CHECK(seen == expected);
  }
}

TEST_CASE("host driver: an exchanged mode lets a cudaMalloc through a strict capture") {
  Fixture f;
  check(f.driver.begin_capture(f.stream, CaptureMode::global), "begin");
  CaptureMode mode = CaptureMode::relaxed;
  check(f.driver.exchange_capture_mode(mode), "exchange");
  CHECK(mode == CaptureMode::global);
  Address address = 0;
  CHECK(f.driver.allocate(64, MemorySpace::device, address) == Status::success);
  check(f.driver.exchange_capture_mode(mode), "exchange");
  CHECK(f.driver.allocate(64, MemorySpace::device, address) == Status::capture_unsupported);
}

TEST_CASE("host driver: a fork that is joined is a diamond, and one that is not ends with 904") {
  for (const bool join : {true, false}) {
    Fixture f;
    const OpLaunch op = f.add_one();
    Event forked, joined;
    check(f.driver.create_event(forked), "event");
    check(f.driver.create_event(joined), "event");
    check(f.driver.begin_capture(f.stream, CaptureMode::global), "begin");
    check(f.driver.launch(op, f.stream), "launch");
    check(f.driver.record(forked, f.stream), "record");
    check(f.driver.wait(f.side, forked), "wait");
    check(f.driver.launch(op, f.side), "launch");
    check(f.driver.launch(op, f.stream), "launch");
    if (join) {
      check(f.driver.record(joined, f.side), "record");
      check(f.driver.wait(f.stream, joined), "wait");
    }
    check(f.driver.launch(op, f.stream), "launch");
    GraphHandle graph;
    CHECK(f.driver.end_capture(f.stream, graph) == (join ? Status::success : Status::capture_unjoined));
    if (!join) continue;
    Introspection inside;
    check(f.driver.introspect(graph, inside), "introspect");
    CHECK(inside.graph.nodes.size() == 4);
    CHECK(inside.graph.edges.size() == 4);
  }
}

TEST_CASE("host driver: fresh device memory is not zero") {
  Fixture f;
  CHECK(f.bytes()[0] == 0xFF);
}

TEST_CASE("host driver: a block of many GiB holds 0xFF and takes memory only where it is written") {
  HostDriver driver;
  const std::uint64_t bytes = (std::uint64_t{20} << 30) + 5;
  Address block = 0;
  REQUIRE(driver.allocate(bytes, MemorySpace::device, block) == Status::success);
  CHECK(block % 256 == 0);
  auto* memory = reinterpret_cast<std::uint8_t*>(block);
  for (const std::uint64_t at : {std::uint64_t{0}, bytes / 2, bytes - 1}) {
    CHECK(memory[at] == 0xFF);
    memory[at] = 7;
  }
  // What is written in one place shows in no other.
  CHECK(memory[bytes / 2 + (std::uint64_t{16} << 20)] == 0xFF);
  CHECK(memory[1] == 0xFF);
  CHECK(memory[bytes - 1] == 7);
  CHECK(driver.release(block, MemorySpace::device) == Status::success);
  CHECK(driver.census() == HostDriver::Census{});
}
