// PyTorch profiler traces: the five that were made on an H200 for this project,
// with what their programs did, and small ones by hand.
#include "traces/kineto/kineto_reader.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/traces/support.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::size_t count(const std::vector<const ApiEvent*>& calls, Api api) {
  std::size_t found = 0;
  for (const ApiEvent* call : calls) found += call->api == api ? 1 : 0;
  return found;
}

std::string trace_of(const std::string& events) {
  return R"({"schemaVersion": 1, "traceEvents": [)" + events + "]}";
}

}  // namespace

TEST_CASE("kineto: each clean decode step is one replay of 226 nodes and no other work") {
  const Timeline timeline = load_recording(sample("decode_graph_clean.json.gz")).timeline;
  REQUIRE(steps_in(timeline).size() == 8);
  for (const RangeEvent* step : steps_in(timeline)) {
    const auto calls = calls_in(timeline, *step);
    REQUIRE(count(calls, Api::graph_launch) == 1);
    // The graph of llama_decode.dot: 226 nodes.
    for (const ApiEvent* call : calls) CHECK(work_of(timeline, *call) == (call->api == Api::graph_launch ? 226u : 0u));
    CHECK(count(calls, Api::stream_synchronize) + count(calls, Api::device_synchronize) == 0);
  }
  CHECK_FALSE(has_limit(timeline, "unmatched-work"));
  CHECK(timeline.problems.empty());
}

TEST_CASE("kineto: each step with host syncs has two of them and one pageable copy and one eager launch") {
  const Timeline timeline = load_recording(sample("decode_graph_hostsync.json.gz")).timeline;
  REQUIRE(steps_in(timeline).size() == 8);
  for (const RangeEvent* step : steps_in(timeline)) {
    const auto calls = calls_in(timeline, *step);
    CHECK(count(calls, Api::graph_launch) == 1);
    CHECK(count(calls, Api::stream_synchronize) == 2);
    CHECK(count(calls, Api::memcpy_async_d2h_pinned) == 1);
    CHECK(count(calls, Api::memcpy_async_h2d_pageable) == 1);
    CHECK(count(calls, Api::launch_kernel) == 1);
    for (const ApiEvent* call : calls)
      if (call->api == Api::stream_synchronize) CHECK(call->stream == 7);
  }
}

TEST_CASE("kineto: an eager step launches all of its kernels and replays nothing") {
  const Timeline timeline = load_recording(sample("decode_eager.json.gz")).timeline;
  CHECK(steps_in(timeline).size() == 3);
  // cudaLaunchKernel, cuLaunchKernelEx and cudaLaunchKernelExC, one device record each.
  CHECK(calls_of(timeline, Api::launch_kernel) == 564 + 99 + 12);
  CHECK(work_where(timeline, [](const WorkEvent& w) { return w.kind == WorkKind::kernel; }) == 675);
  CHECK(calls_of(timeline, Api::memcpy_async_d2d) == 3);
  CHECK(calls_of(timeline, Api::graph_launch) == 0);
}

TEST_CASE("kineto: a clean capture holds four captured launches and two allocations between exchanges") {
  const Timeline timeline = load_recording(sample("capture_clean.json.gz")).timeline;
  const auto captured = [](const ApiEvent& c) {
    return c.capture == 1 && c.api == Api::launch_kernel && c.target == Target::capturing;
  };
  CHECK(calls_where(timeline, captured) == 4);
  CHECK(calls_where(timeline, [](const ApiEvent& c) { return c.capture == 1 && c.api == Api::malloc; }) == 2);
  CHECK(calls_where(timeline, [](const ApiEvent& c) { return c.target == Target::other; }) == 0);
  CHECK(calls_where(timeline,
                    [&](const ApiEvent& c) { return c.api == Api::graph_launch && work_of(timeline, c) == 4; }) == 4);
  CHECK(has_limit(timeline, "unnamed-calls"));
}

TEST_CASE("kineto: what escaped a capture ran once and each replay still owns four kernels") {
  const Timeline timeline = load_recording(sample("capture_escapes.json.gz")).timeline;
  const auto in_capture = [&](Api api, Target target) {
    return calls_where(timeline,
                       [&](const ApiEvent& c) { return c.capture == 1 && c.api == api && c.target == target; });
  };
  CHECK(in_capture(Api::launch_kernel, Target::capturing) == 4);
  CHECK(in_capture(Api::launch_kernel, Target::other) == 1);
  CHECK(in_capture(Api::memcpy_d2h, Target::none) == 1);
  CHECK(in_capture(Api::memset, Target::none) == 1);
  CHECK(in_capture(Api::malloc, Target::none) == 2);
  // A bare cudaMalloc passes in no other mode.
  CHECK(calls_where(timeline, [](const ApiEvent& c) {
          return c.api == Api::begin_capture && c.mode == CaptureMode::relaxed;
        }) == 1);
  CHECK(calls_where(timeline,
                    [&](const ApiEvent& c) { return c.api == Api::graph_launch && work_of(timeline, c) == 4; }) == 4);
}

TEST_CASE("kineto: plain text and gzip and a bare list of events are the same trace") {
  const std::string event =
      R"({"ph":"X","cat":"Runtime","name":"cudaMalloc","pid":3,"tid":"4","ts":1600000000000001,"dur":2.5,"args":{"correlation":1}})";
  const std::string text = trace_of(event);
  for (const std::string& path :
       {file_of("k.json", text), file_of("k.json.gz", gzip(text)), file_of("k-list.json", "[" + event + "]")}) {
    const Timeline timeline = load_recording(path).timeline;
    REQUIRE(timeline.calls.size() == 1);
    CHECK(timeline.calls[0].api == Api::malloc);
    CHECK(timeline.calls[0].start_ns == 0);
    CHECK(timeline.calls[0].end_ns == 2500);
  }
}

TEST_CASE("kineto: an event without times is counted and the reading goes on") {
  const Recording recording = load_recording(file_of(
      "bad-event.json", trace_of(R"({"ph":"X","cat":"kernel","name":"k","ts":"soon"},)"
                                 R"({"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"args":{"correlation":-1}})")));
  CHECK(recording.timeline.work.size() == 1);
  CHECK(problems(recording, "bad-event") == 1);
  CHECK(has_limit(recording.timeline, "unmatched-work"));
}

TEST_CASE("kineto: cut changed nested and endless files are refused in one line") {
  const std::string whole = gunzip(bytes_of(sample("capture_clean.json.gz"))), packed = gzip(whole);
  for (std::size_t size = 200; size + 3 < whole.size(); size += 997)
    CHECK(load_error(file_of("cut.json", whole.substr(0, size))).find("cut.json") != std::string::npos);
  for (std::size_t size = 600; size < packed.size(); size += 499)
    CHECK_FALSE(load_error(file_of("cut.json.gz", packed.substr(0, size))).empty());
  CHECK(load_error(file_of("deep.json", trace_of(std::string(100'000, '[')))).find("64 deep") != std::string::npos);
  const std::string endless = trace_of(R"({"name":")" + std::string(40 << 20, 'x'));
  CHECK(load_error(file_of("endless.json.gz", gzip(endless))).find("over 16 MiB") != std::string::npos);
  CHECK(load_error(file_of("none.json", R"({"schemaVersion": 1})")).find("traceEvents") != std::string::npos);
}
