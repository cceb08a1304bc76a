// Memory that others allocated, and what becomes of it between a capture and a
// replay: the driver's identity of an allocation tells, its address does not.
#include "runtime/pointer_watch.hpp"

#include <memory>

#include "audit/audit.hpp"
#include "runtime/capture.hpp"
#include "runtime/owned_stream.hpp"
#include "runtime/transfer.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

constexpr std::uint64_t kBytes = std::uint64_t{8} << 20;  // enough for an allocation of its own, on the device too

/// A graph that copies memory which the test took from the driver into a lease.
struct Fixture {
  std::unique_ptr<Driver> inner = test::make_test_driver();
  SequenceClock clock;
  RecordingDriver driver{*inner, clock};
  BufferRegistry registry{clock};
  Arena arena{driver, registry, 2 * kBytes};
  Lease out = arena.lease({"out", kBytes, Role::output, Dtype::u8});
  OwnedStream stream{*inner};
  Address theirs = 0;

  Fixture() {
    check(inner->allocate(kBytes, MemorySpace::device, theirs), "allocate");
    check(inner->fill(theirs, 7, kBytes, stream), "fill");
  }
  ~Fixture() {
    if (theirs != 0) (void)inner->release(theirs, MemorySpace::device);
  }

  Captured capture() {
    Recorder recorder(driver, registry, stream);
    CaptureScope scope(recorder, CaptureMode::global);
    recorder.copy({out.address(), MemorySpace::device}, {theirs, MemorySpace::device}, kBytes);
    Captured captured = scope.finish("step", {});
    driver.add_graph(captured.handle(), captured.graph);
    return captured;
  }

  std::vector<std::string> errors() {
    const Subject subject{{driver.recording("test", registry)}};
    const Report report = audit(subject);
    std::vector<std::string> rules;
    for (const Finding& finding : report.findings())
      if (finding.severity == Severity::error) rules.push_back(finding.rule);
    return rules;
  }

  /// By somebody whom nobody records.
  void free_theirs() {
    check(inner->release(theirs, MemorySpace::device), "free");
    theirs = 0;
  }
  /// Frees the block and takes one of its size until it lies at the old address; false if the driver gives none.
  bool reuse_their_address() {
    const Address old = theirs;
    free_theirs();
    std::vector<Address> others;
    while (others.size() < 100) {
      check(inner->allocate(kBytes, MemorySpace::device, theirs), "allocate");
      if (theirs == old) break;
      others.push_back(theirs);
    }
    for (const Address other : others)
      if (other != theirs) (void)inner->release(other, MemorySpace::device);
    return theirs == old;
  }
};

}  // namespace

TEST_CASE("pointer watch: memory that stays as it was is no finding") {
  Fixture f;
  const Captured captured = f.capture();
  GraphExec exec(f.driver, f.arena, captured, f.stream);
  PointerWatch watch(captured.graph);
  watch.check(f.driver);
  exec.launch(f.stream);
  watch.check(f.driver);
  CHECK(f.errors().empty());
  check(f.inner->synchronize(f.stream), "synchronize");
  std::vector<std::byte> out(kBytes);
  read_device(*f.inner, out, f.out.address());
  CHECK(out.back() == std::byte{7});
}

TEST_CASE("pointer watch: the graph names the allocation that the driver knows behind a contract's address") {
  Fixture f;
  const Captured captured = f.capture();
  REQUIRE(captured.graph.nodes.size() == 1);
  REQUIRE(captured.graph.nodes[0].accesses.size() == 2);
  const Buffer& buffer = captured.graph.buffers[captured.graph.nodes[0].accesses[0].buffer];
  CHECK(buffer.base == f.theirs);
  CHECK(buffer.bytes == kBytes);
  CHECK(is_driver_allocation(buffer.allocation));
}

TEST_CASE("pointer watch: memory freed between a capture and a replay is RF401") {
  Fixture f;
  const Captured captured = f.capture();
  GraphExec exec(f.driver, f.arena, captured, f.stream);
  PointerWatch watch(captured.graph);
  f.free_theirs();
  watch.check(f.driver);
  CHECK(f.errors() == std::vector<std::string>{"RF401"});
}

TEST_CASE("pointer watch: memory freed and allocated again at the same address is RF402") {
  Fixture f;
  const Captured captured = f.capture();
  GraphExec exec(f.driver, f.arena, captured, f.stream);
  PointerWatch watch(captured.graph);
  REQUIRE(f.reuse_their_address());
  watch.check(f.driver);
  CHECK(f.errors() == std::vector<std::string>{"RF402"});
  watch.check(f.driver);  // told once
  CHECK(f.errors().size() == 1);
}

TEST_CASE("pointer watch: two graphs that name one allocation find the same death and not two") {
  Fixture f;
  const Captured first = f.capture(), second = f.capture();
  GraphExec one(f.driver, f.arena, first, f.stream), two(f.driver, f.arena, second, f.stream);
  PointerWatch a(first.graph), b(second.graph);
  REQUIRE(f.reuse_their_address());
  a.check(f.driver);
  b.check(f.driver);
  const Recording recording = f.driver.recording("test", f.registry);
  std::size_t outside = 0;
  for (const BufferEvent& event : recording.timeline.buffers)
    if (is_driver_allocation(event.buffer.allocation)) ++outside;
  CHECK(outside == 2);                                              // the dead one and its tenant
  CHECK(f.errors() == std::vector<std::string>{"RF402", "RF402"});  // one a graph
}
