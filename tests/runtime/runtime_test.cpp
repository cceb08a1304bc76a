// What a step of one's own stands on, in a few calls.
#include "runtime/runtime.hpp"

#include <stdexcept>

#include "runtime/failing_driver.hpp"
#include "runtime/host/host_driver.hpp"
#include "runtime/transfer.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

bool finds(const Report& report, const char* rule) {
  for (const Finding& finding : report.findings())
    if (finding.rule == rule) return true;
  return false;
}

}  // namespace

TEST_CASE("runtime: a step that is captured and replayed does its work and is audited with its launches") {
  HostDriver driver;
  {
    Runtime runtime(driver, 4096);
    const Lease bytes = runtime.arena.lease({"bytes", 64, Role::output, Dtype::u8});
    const Captured captured = runtime.capture("zeroing", [&](Recorder& r) { r.zero(bytes.address(), 64); });
    CHECK(captured.graph.name == "zeroing");
    CHECK(read_array<std::uint8_t>(driver, bytes, 64) == std::vector<std::uint8_t>(64, 0xFF));  // not run yet
    GraphExec exec = runtime.instantiate(captured);
    runtime.replay(exec);
    CHECK(read_array<std::uint8_t>(driver, bytes, 64) == std::vector<std::uint8_t>(64, 0));
    const Recording recording = runtime.recording("own");
    REQUIRE(recording.graphs.size() == 1);
    CHECK(recording.timeline.graphs.size() == 1);  // tied to the handle that the launch goes back to
    CHECK(runtime.audit("own").findings().empty());
  }
  CHECK(driver.census() == HostDriver::Census{});
}

TEST_CASE("runtime: a capture that a call breaks ends and the audit names the call") {
  HostDriver driver;
  Runtime runtime(driver, 4096);
  const auto syncs = [&](Recorder& r) { check(runtime.driver.synchronize(r.stream()), "cudaStreamSynchronize"); };
  CHECK_THROWS_AS(runtime.capture("broken", syncs), Error);
  CHECK(driver.census().captures == 0);
  CHECK(finds(runtime.audit("own"), "RF101"));
}

TEST_CASE("runtime: an exception of the step leaves no capture open") {
  HostDriver driver;
  Runtime runtime(driver, 4096);
  CHECK_THROWS_AS(runtime.capture("thrown", [](Recorder&) { throw std::runtime_error("the model is broken"); }),
                  std::runtime_error);
  CHECK(driver.census().captures == 0);
  CHECK(driver.census().graphs == 0);
}

TEST_CASE("runtime: whichever of its calls fails it leaves nothing with the driver") {
  std::uint64_t n = 0;
  for (bool failed = true; failed;) {
    HostDriver host;
    FailingDriver driver(host, ++n);
    try {
      const Runtime runtime(driver, 4096);
    } catch (const Error& failure) {
      CHECK(failure.kind() == ErrorKind::driver);
    }
    INFO("call " << n);
    CHECK(host.census() == HostDriver::Census{});
    failed = driver.failed();
  }
  CHECK(n == 5);  // none of reserve, create, destroy and unreserve is left untried
}
