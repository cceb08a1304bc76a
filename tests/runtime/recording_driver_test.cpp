#include "runtime/recording_driver.hpp"

#include "runtime/host/host_driver.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/shown_driver.hpp"

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

TEST_CASE("recording driver: a step tells its rows to a profiler and to the recording") {
  HostDriver host;
  test::ShownDriver shown(host);
  SequenceClock clock;
  RecordingDriver driver(shown, clock);
  {
    const auto step = driver.step("decode", {8, 5});
    const ProfilerRange replay(driver, "replay", 3);
  }
  { const auto step = driver.step("bare"); }
  driver.pause();
  { const auto step = driver.step("unseen", {8, 6}); }
  CHECK(shown.shown ==
        std::vector<std::string>{"step 5", "step/bucket 8", "step/replay 3", "step 0", "step 6", "step/bucket 8"});
  const Timeline timeline = driver.recording("rows", BufferRegistry{clock}).timeline;
  REQUIRE(timeline.ranges.size() == 2);
  CHECK(timeline.ranges[0].rows == RowCounts{8, 5});
  CHECK(timeline.ranges[1].rows == RowCounts{});
}
