// PyTorch profiler traces: the five that were made on an H200 for this project,
// with what their programs did, and small ones by hand.
#include "traces/kineto/kineto_reader.hpp"

#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/traces/support.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/kineto/trace_event.hpp"
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

TEST_CASE("kineto: times keep their nanoseconds though a date in microseconds leaves a double none") {
  for (const auto& [text, ns] :
       std::vector<std::pair<std::string, std::optional<std::uint64_t>>>{{"1790857026000123.457", 1790857026000123457},
                                                                         {"0", 0},
                                                                         {"0.02", 20},
                                                                         {"12.3456789", 12345},
                                                                         {"1e3", 1'000'000},
                                                                         {"2.5e-1", 250},
                                                                         {"4000000000000001", {}},
                                                                         {"-1", {}},
                                                                         {"nan", {}},
                                                                         {"0x10", {}},
                                                                         {"1.x", {}},
                                                                         {"", {}}}) {
    INFO(text);
    CHECK(ns_of(text) == ns);
  }
}

TEST_CASE("kineto: steps of the profiler stand among the operators in old traces and other operators are none") {
  const auto range = [](const char* category, const char* name) {
    return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":1,"ts":1,"dur":5}})", category, name);
  };
  const Timeline timeline =
      load_recording(
          file_of("operators.json",
                  trace_of(range("Operator", "ProfilerStep#1") + "," + range("cpu_op", "ProfilerStep#2") + "," +
                           range("cpu_op", "aten::step_3") + "," + range("gpu_user_annotation", "ProfilerStep#2"))))
          .timeline;
  CHECK(timeline.ranges.size() == 2);
  CHECK(steps_in(timeline).size() == 2);
}

TEST_CASE("kineto: sync records tell the stream and the event that a call waited for and where it was recorded") {
  const auto call = [](const char* name, int ts, int correlation) {
    return fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"{}","pid":1,"tid":1,"ts":{},"dur":1,"args":{{"correlation":{}}}}})",
        name, ts, correlation);
  };
  const std::string events =
      call("cudaEventRecord", 1, 100) + "," + call("cudaStreamWaitEvent", 3, 200) + "," +
      call("cudaEventSynchronize", 5, 300) + "," + call("cudaStreamSynchronize", 7, 400) + "," +
      R"({"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":8,"ts":3,"dur":1,"args":{"wait_on_stream":9,
      "wait_on_cuda_event_record_corr_id":100,"wait_on_cuda_event_id":7777,"stream":8,"correlation":200}},
      {"ph":"X","cat":"cuda_sync","name":"Event Sync","pid":0,"tid":-1,"ts":5,"dur":1,"args":{"wait_on_stream":9,
      "wait_on_cuda_event_record_corr_id":100,"wait_on_cuda_event_id":7777,"stream":-1,"correlation":300}},
      {"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":11,"ts":7,"dur":1,"args":{"stream":11,
      "correlation":400}})";
  const Timeline timeline = load_recording(file_of("sync.json", trace_of(events))).timeline;
  REQUIRE(timeline.calls.size() == 4);
  CHECK(timeline.calls[0].object == 7777);
  CHECK(timeline.calls[0].stream == 9);
  CHECK(timeline.calls[1].object == 7777);
  CHECK(timeline.calls[1].stream == 8);
  CHECK(timeline.calls[2].object == 7777);
  CHECK(timeline.calls[3].stream == 11);
  CHECK(timeline.work.empty());
}

TEST_CASE("kineto: a pointer of HIP is the memory for a free and a place on the stack for an allocation") {
  const auto call = [](const char* name, int ts) {
    return fmt::format(
        R"({{"ph":"X","cat":"cuda_runtime","name":"{}","pid":1,"tid":1,"ts":{},"dur":1,"args":{{"correlation":{},"bytes":4096,"ptr":"0x7f1468400000"}}}})",
        name, ts, ts);
  };
  const Timeline timeline =
      load_recording(file_of("hip.json", trace_of(call("hipMalloc", 1) + "," + call("hipFree", 3)))).timeline;
  REQUIRE(timeline.calls.size() == 2);
  CHECK(timeline.calls[0].address == 0);
  CHECK(timeline.calls[0].bytes == 4096);
  CHECK(timeline.calls[1].address == 0x7f1468400000);
}

TEST_CASE("kineto: ids of a graph that is not 0 are those of the exec and the node") {
  const std::string events =
      R"({"args":{"correlation":5},"cat":"cuda_runtime","dur":1,"name":"cudaGraphLaunch","ph":"X","pid":1,"tid":1,"ts":1},
      {"args":{"graph id":2,"graph node id":8589934593,"correlation":5,"stream":7,"grid":[1,[2],{"x":3}]},"cat":"kernel",
      "dur":1,"name":"k \"\u00e9\"","ph":"X","pid":0,"tid":7,"ts":3},
      {"args":{"correlation":5,"stream":7,"bytes":64,"kind":"DtoH"},"cat":"gpu_memcpy","dur":1,"name":"CopyDeviceToHost",
      "ph":"X","pid":0,"tid":7,"ts":4})";
  const Timeline timeline = load_recording(file_of("ids.json", trace_of(events))).timeline;
  REQUIRE(timeline.calls.size() == 1);
  REQUIRE(timeline.work.size() == 2);
  CHECK((timeline.calls[0].object & 0xffff'ffff) == 2);
  CHECK(timeline.work[0].graph_node == 0x2'0000'0001);
  CHECK(timeline.text(timeline.work[0].name) == "k \"\xc3\xa9\"");
  CHECK(timeline.work[1].graph_node == 0);
  CHECK(timeline.work[1].direction == CopyDirection::d2h);
}
