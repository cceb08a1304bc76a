// Public PyTorch profiler traces of several years, with counts that were taken
// from them by another JSON parser.
#include "tests/catch.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/cut_steps.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

bool is_sync(const ApiEvent& call) {
  return call.api == Api::stream_synchronize || call.api == Api::device_synchronize;
}

}  // namespace

TEST_CASE("kineto: seven profiler steps each replay 36 nodes and the profiler's own sync is in none") {
  const std::string path = public_trace("kineto/leimao_with_manual_capture.json.gz");
  if (path.empty()) return;
  const Timeline timeline = load_recording(path).timeline;
  REQUIRE(steps_in(timeline).size() == 7);
  for (const RangeEvent* step : steps_in(timeline)) {
    std::size_t replays = 0, launches = 0, copies = 0;
    for (const ApiEvent* call : calls_in(timeline, *step)) {
      CHECK_FALSE(is_sync(*call));
      launches += call->api == Api::launch_kernel ? 1 : 0;
      copies += call->api == Api::memcpy_async_d2d ? 1 : 0;
      if (call->api != Api::graph_launch) continue;
      ++replays;
      CHECK(work_of(timeline, *call) == 36);
    }
    CHECK(replays == 1);
    CHECK(launches == 2);
    CHECK(copies == 2);
  }
  CHECK(calls_of(timeline, Api::device_synchronize) == 1);
}

TEST_CASE("kineto: six steps of old category names hold two replays and ten blocking copies each") {
  const std::string path = public_trace("kineto/hta_trace_diff_test.json.gz");
  if (path.empty()) return;
  const Timeline timeline = load_recording(path).timeline;
  REQUIRE(steps_in(timeline).size() == 6);
  CHECK(calls_of(timeline, Api::graph_launch) == 12);
  CHECK(calls_of(timeline, Api::stream_synchronize) == 60);
  CHECK(calls_of(timeline, Api::memcpy_async_d2h_pageable) == 60);
  CHECK(calls_where(timeline,
                    [&](const ApiEvent& c) { return c.api == Api::graph_launch && work_of(timeline, c) == 339; }) == 6);
  CHECK(calls_where(timeline,
                    [&](const ApiEvent& c) { return c.api == Api::graph_launch && work_of(timeline, c) == 502; }) == 6);
}

TEST_CASE("kineto: pageable copies with their syncs are there and an optimizer's step is none") {
  const std::string path = public_trace("kineto/hta_step_based_pageable_sync.json.gz");
  if (path.empty()) return;
  const Timeline timeline = load_recording(path).timeline;
  CHECK(timeline.step_basis == StepBasis::period);  // guessed: no name was taken for a step's
  CHECK(calls_of(timeline, Api::memcpy_async_h2d_pageable) == 10);
  CHECK(calls_of(timeline, Api::stream_synchronize) == 10);
}

TEST_CASE("kineto: a HIP trace holds 25 captures and no sync inside one") {
  const std::string path = public_trace("kineto/tracelens_vllm_piecewise_capture_mi300x.json.gz");
  if (path.empty()) return;
  const Timeline timeline = load_recording(path).timeline;
  CHECK(calls_where(timeline, [](const ApiEvent& c) { return c.api == Api::begin_capture && c.capture != 0; }) == 25);
  CHECK(calls_where(timeline, [](const ApiEvent& c) { return c.api == Api::malloc && c.capture != 0; }) == 12);
  CHECK(calls_where(timeline, [](const ApiEvent& c) { return c.api == Api::malloc && c.capture == 0; }) == 2);
  CHECK(calls_where(timeline, [](const ApiEvent& c) { return is_sync(c) && c.capture != 0; }) == 0);
  CHECK(calls_where(timeline, [](const ApiEvent& c) { return is_sync(c); }) == 26);
  CHECK(calls_of(timeline, Api::free) == 12);
}

TEST_CASE("kineto: graph ids of zero are of no graph") {
  const std::string path = public_trace("kineto/kineto_docs_after_fix_trace.json.gz");
  if (path.empty()) return;
  const Timeline timeline = load_recording(path).timeline;
  REQUIRE(timeline.work.size() == 1);
  CHECK(timeline.work[0].graph_node == 0);
  CHECK(timeline.work[0].call == timeline.calls[0].sequence);
}
