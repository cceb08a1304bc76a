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

struct LookArgs {
  const std::uint8_t* bytes = nullptr;
  std::uint64_t count = 0;
};

/// Reads what has to be zero, and leaves it so.
const Op<LookArgs> look_op{"look",
                           [](const LookArgs& a) {
                             return Contract{{touch(a.bytes, a.count, Mode::read, Role::scratch, Dtype::u8)},
                                             {claim(Fact::zeroed, a.bytes, a.count)},
                                             {}};
                           },
                           [](const LookArgs&) {}, nullptr};

/// The audit of a step whose scratch in `overlay` is zeroed once, before the capture, or in the graph.
Report audit_of_zeroing(Overlays overlays, std::uint32_t overlay, bool in_graph) {
  HostDriver driver;
  Runtime runtime(driver, 4096, overlays);
  const Lease scratch = runtime.arena.lease({"touched", 64, Role::scratch, Dtype::u8, {}, overlay});
  if (!in_graph) runtime.recorder.zero(scratch.address(), 64);
  const Captured captured = runtime.capture("looking", [&](Recorder& r) {
    if (in_graph) r.zero(scratch.address(), 64);
    r.launch(look_op, {scratch.as<std::uint8_t>(), 64});
  });
  GraphExec exec = runtime.instantiate(captured);
  runtime.replay(exec);
  return runtime.audit("looking");
}

}  // namespace

TEST_CASE("runtime: a scratch zeroed once is enough in memory of its own and RF301 in memory that overlays share") {
  CHECK(audit_of_zeroing({}, 0, false).findings().empty());
  CHECK(audit_of_zeroing({2, 4096}, 0, false).findings().empty());
  CHECK(audit_of_zeroing({1, 4096}, 1, false).findings().empty());  // nobody to share it with
  const Report report = audit_of_zeroing({2, 4096}, 2, false);
  REQUIRE(report.findings().size() == 1);
  CHECK(finds(report, "RF301"));
  CHECK(report.findings().front().message.find("shared") != std::string::npos);
  CHECK(audit_of_zeroing({2, 4096}, 2, true).findings().empty());
}

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
  CHECK(n == 8);  // none of reserve, create, exchange, wait, exchange back, destroy and unreserve is left untried
}
