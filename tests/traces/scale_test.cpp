// A hundred thousand calls: time, memory and file size are those of a tool that is used on millions.
#include <chrono>

#include "tests/catch.hpp"
#include "tests/traces/support.hpp"
#include "traces/recording_writer.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

Recording many_calls(std::size_t count) {
  Recording recording;
  recording.has_timeline = true;
  Interner names(recording.timeline);
  for (std::size_t i = 0; i < count; ++i) {
    ApiEvent event;
    event.sequence = i + 1;
    event.start_ns = 1'000'000'000 + i * 4'321 + i * i % 977;
    event.end_ns = event.start_ns + 2'000 + i % 501;
    event.api = i % 7 == 0 ? Api::memcpy_async_h2d_pinned : Api::launch_kernel;
    event.thread = static_cast<std::uint32_t>(1 + i % 3);
    event.stream = static_cast<std::uint32_t>(i % 5);
    event.address = 0x7f00'0000'0000 + i % 64 * 4'096;
    event.bytes = i % 7 == 0 ? 4'096 : 0;
    event.space = MemorySpace::device;
    event.detail = names.id("kernel_" + std::to_string(i % 40));
    recording.timeline.calls.push_back(event);
  }
  return recording;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("scale: 100,000 calls are written and read in seconds, under 40 bytes a call on disk") {
  constexpr std::size_t kCalls = 100'000;
  const Recording recording = many_calls(kCalls);
  const std::string path = path_of("scale.rec");
  auto start = std::chrono::steady_clock::now();
  write_recording(path, recording, {});
  const double wrote = seconds_since(start);
  start = std::chrono::steady_clock::now();
  const Recording again = read(path);
  const double took = seconds_since(start);
  INFO("wrote in " << wrote << " s, read in " << took << " s");
  CHECK(describe(again) == describe(recording));
  // Ten to twenty times what it takes: a bound that only a change of order, or a sanitizer on a busy machine, comes
  // near.
  CHECK(wrote < 10);
  CHECK(took < 10);
  CHECK(bytes_of(path).size() < 40 * kCalls);
}
