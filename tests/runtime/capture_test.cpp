#include "runtime/capture.hpp"

#include <stdexcept>

#include "runtime/failing_driver.hpp"
#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

struct TouchArgs {
  std::uint8_t* bytes = nullptr;
  std::uint64_t count = 0;
};

const Op<TouchArgs> touch_op{"touch",
                             [](const TouchArgs& a) {
                               return Contract{{touch(a.bytes, a.count, Mode::write, Role::output, Dtype::u8)}, {}, {}};
                             },
                             [](const TouchArgs& a) { a.bytes[0] = 1; }, nullptr};

Stream new_stream(Driver& driver) {
  Stream stream;
  check(driver.create_stream(stream), "cudaStreamCreateWithFlags");
  return stream;
}

struct Fixture {
  HostDriver driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena{driver, registry, 1 << 16};
  Lease lease = arena.lease({"out", 64, Role::output, Dtype::u8});
  Stream stream = new_stream(driver);
  Recorder recorder{driver, registry, stream};
  TouchArgs args{lease.as<std::uint8_t>(), 64};
};

}  // namespace

TEST_CASE("capture: an exception inside the scope ends the capture and frees the graph") {
  Fixture f;
  try {
    const CaptureScope scope(f.recorder, CaptureMode::global);
    f.recorder.launch(touch_op, f.args);
    throw std::runtime_error("the step failed");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) == "the step failed");
  }
  CHECK(f.driver.census().captures == 0);
  CHECK(f.driver.census().graphs == 0);
  CHECK(f.driver.synchronize(f.stream) == Status::success);
}

TEST_CASE("capture: what leaves a failed capture is the first violation, not the 901 at its end") {
  Fixture f;
  try {
    CaptureScope scope(f.recorder, CaptureMode::global);
    check(f.driver.synchronize(f.stream), "cudaStreamSynchronize");
    (void)scope.finish("step", {});
    FAIL("the sync must be refused");
  } catch (const Error& error) {
    CHECK(error.status() == 900);
    CHECK(error.tried() == "cudaStreamSynchronize");
  }
  CHECK(f.driver.census().captures == 0);
}

TEST_CASE("capture: a graph exec holds the leases that its nodes name") {
  Fixture f;
  {
    CaptureScope scope(f.recorder, CaptureMode::global);
    f.recorder.launch(touch_op, f.args);
    const Captured captured = scope.finish("step", {});
    const GraphExec exec(f.driver, f.arena, captured, f.stream);
    CHECK_THROWS_AS(f.arena.release(f.lease), Error);
    CHECK_THROWS_AS(f.arena.grow(f.lease, 128), Error);
  }
  f.arena.release(f.lease);
  CHECK(f.driver.census().execs == 0);
  CHECK(f.driver.census().graphs == 0);
}

namespace {

Captured capture_touches(Fixture& f, int count) {
  CaptureScope scope(f.recorder, CaptureMode::global);
  for (int i = 0; i < count; ++i) f.recorder.launch(touch_op, f.args);
  return scope.finish("step", {});
}

}  // namespace

TEST_CASE("graph exec: it is updated where the nodes are the same and instantiated again where they are not") {
  Fixture f;
  const Captured two = capture_touches(f, 2), other_two = capture_touches(f, 2), three = capture_touches(f, 3);
  GraphExec exec(f.driver, f.arena, two, f.stream);
  const std::size_t execs = f.driver.census().execs;
  CHECK(exec.replace(f.arena, other_two, f.stream));
  CHECK(f.driver.census().execs == execs);
  CHECK_FALSE(exec.replace(f.arena, three, f.stream));
  CHECK(f.driver.census().execs == execs);  // the old one went
  f.lease.as<std::uint8_t>()[0] = 0;
  exec.launch(f.stream);
  CHECK(f.lease.as<std::uint8_t>()[0] == 1);
}

TEST_CASE("graph exec: a replacement that fails at any call leaves the old exec and nothing else") {
  Fixture f;
  const Captured two = capture_touches(f, 2), three = capture_touches(f, 3);
  bool done = false;
  for (std::uint64_t n = 3; !done; ++n) {  // the first two calls make the exec
    FailingDriver failing(f.driver, n);
    GraphExec exec(failing, f.arena, two, f.stream);
    try {
      exec.replace(f.arena, three, f.stream);
      done = !failing.failed();
    } catch (const Error&) {
    }
    CHECK(f.driver.census().execs == 1);
    if (done) break;  // the call that would fail now is none of the replacement's
    f.lease.as<std::uint8_t>()[0] = 0;
    exec.launch(f.stream);
    CHECK(f.lease.as<std::uint8_t>()[0] == 1);
  }
  CHECK(f.driver.census().execs == 0);
}

TEST_CASE("graph exec: an update whose upload fails holds the leases that it has baked in") {
  Fixture f;
  const Captured before = capture_touches(f, 2);
  Lease moved = f.arena.lease({"out", 64, Role::output, Dtype::u8});
  f.args.bytes = moved.as<std::uint8_t>();
  const Captured after = capture_touches(f, 2);
  FailingDriver failing(f.driver, 4);  // instantiate, upload, update, and the upload that fails
  GraphExec exec(failing, f.arena, before, f.stream);
  CHECK_THROWS_AS(exec.replace(f.arena, after, f.stream), Error);
  CHECK_THROWS_AS(f.arena.release(moved), Error);
  f.arena.release(f.lease);
  moved.as<std::uint8_t>()[0] = 0;
  exec.launch(f.stream);
  CHECK(moved.as<std::uint8_t>()[0] == 1);
}
