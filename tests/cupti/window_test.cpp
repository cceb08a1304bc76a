// When the auditor listens, what settings say it, and what is left of a recording
// whose writer was killed.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "audit/cupti/window.hpp"
#include "audit/cupti/writing_sink.hpp"
#include "tests/catch.hpp"
#include "traces/readers.hpp"

using namespace refrain;

TEST_CASE("window: it closes at the exit of the call after the last launch that was asked for") {
  LiveSettings settings;
  settings.launches = 2;
  Window window(settings);
  CHECK(window.state() == WindowState::armed);
  window.opened(100);
  window.count_launch();
  CHECK_FALSE(window.must_close(110));
  window.count_launch();
  CHECK(window.must_close(120));
  CHECK(window.state() == WindowState::closing);
  window.closed();
  CHECK(window.may_open());
  window.opened(200);  // it counts anew
  CHECK_FALSE(window.must_close(210));
}

TEST_CASE("window: seconds count from its opening") {
  LiveSettings settings;
  settings.seconds = 1.5;
  Window window(settings);
  window.opened(1'000'000'000);
  CHECK_FALSE(window.must_close(2'400'000'000));
  CHECK(window.must_close(2'500'000'000));
}

TEST_CASE("window: asking to close one that is not open does nothing") {
  Window window(LiveSettings{});
  window.ask_close();
  CHECK(window.state() == WindowState::armed);
  window.step_aside();
  CHECK_FALSE(window.may_open());
  window.ask_close();
  CHECK(window.state() == WindowState::off);
}

TEST_CASE("settings: what the program says is what the library reads") {
  LiveSettings settings;
  settings.folder = "/tmp/recordings";
  settings.launches = 12;
  settings.seconds = 2.5;
  settings.signal = read_signal("USR2");
  settings.range = "decode loop";
  settings.by_calls = true;
  settings.checks = {3, 0};
  for (const auto& [name, value] : live_environment(settings)) ::setenv(name.c_str(), value.c_str(), 1);
  const LiveSettings read = live_settings_from_environment();
  for (const auto& [name, value] : live_environment(settings)) ::unsetenv(name.c_str());
  CHECK(live_environment(read) == live_environment(settings));
  CHECK_FALSE(read.opens_at_start());
  CHECK(live_settings_from_environment().opens_at_start());
}

TEST_CASE("settings: pointer checks are every launch or the first ones or one in so many") {
  CHECK(read_pointer_checks("every")->wanted(1000));
  CHECK(read_pointer_checks("first:2")->wanted(2));
  CHECK_FALSE(read_pointer_checks("first:2")->wanted(3));
  CHECK(read_pointer_checks("sample:10")->wanted(11));
  CHECK_FALSE(read_pointer_checks("sample:10")->wanted(10));
  for (const char* bad : {"", "never", "first", "first:", "first:x", "sample:0", "sample:-1", "every:2"})
    CHECK_FALSE(read_pointer_checks(bad).has_value());
}

TEST_CASE("settings: a signal that cannot be caught is none") {
  CHECK(read_signal("SIGUSR1") == read_signal("USR1"));
  CHECK(read_signal("USR1") != 0);
  for (const char* bad : {"", "KILL", "9", "19", "0", "-3", "9999", "USR3"}) CHECK(read_signal(bad) == 0);
}

TEST_CASE("writing sink: what was flushed is read back after the writer died") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("refrain-sink-" + std::to_string(::getpid()) + ".jsonl.gz")).string();
  {
    WritingSink sink(path, {"killed", {}});
    ApiEvent event;
    for (std::uint64_t i = 1; i <= kFlushRecords; ++i) {
      event.sequence = i;
      sink.call(event, "step");
    }
    const Recording half = load_recording(path);  // as a reader finds it while the writer still has it open
    CHECK(half.timeline.calls.size() == kFlushRecords);
    CHECK_FALSE(half.timeline.complete);
    sink.limit({"caching-allocator", "tensors are not seen as freed", 1});
    sink.end(true);
    CHECK(sink.failure().empty());
  }
  const Recording whole = load_recording(path);
  std::filesystem::remove(path);
  CHECK(whole.timeline.complete);
  REQUIRE(whole.timeline.limits.size() == 1);
  CHECK(whole.timeline.limits[0].sentence == "tensors are not seen as freed");
}
