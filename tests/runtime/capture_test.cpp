#include "runtime/capture.hpp"

#include <stdexcept>

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
