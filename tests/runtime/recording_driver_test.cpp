#include "runtime/recording_driver.hpp"

#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"

using namespace refrain;

TEST_CASE("recording driver: a paused one passes calls on and keeps none of them, and says that something is missing") {
  HostDriver inner;
  SequenceClock clock;
  RecordingDriver driver(inner, clock);
  const BufferRegistry registry{clock};
  Address block = 0;
  REQUIRE(driver.allocate(64, MemorySpace::device, block) == Status::success);
  CHECK(driver.recording("before", registry).timeline.complete);

  driver.pause();
  {
    const auto step = driver.step("unseen");
    for (int i = 0; i < 100; ++i) REQUIRE(driver.fill(block, 7, 64, Stream{}) == Status::success);
  }
  CHECK(*reinterpret_cast<const unsigned char*>(block) == 7);
  driver.resume();
  { const auto step = driver.step("seen"); }
  REQUIRE(driver.release(block, MemorySpace::device) == Status::success);

  const Timeline timeline = driver.recording("after", registry).timeline;
  REQUIRE(timeline.calls.size() == 2);
  CHECK(timeline.calls[0].api == Api::malloc);
  CHECK(timeline.calls[1].api == Api::free);
  REQUIRE(timeline.ranges.size() == 1);
  CHECK(timeline.text(timeline.ranges[0].name) == "seen");
  CHECK_FALSE(timeline.complete);
}
