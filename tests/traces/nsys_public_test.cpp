// Real exports of four versions of Nsight Systems, with counts that were taken
// from them by SQL alone.
#include "tests/catch.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

bool blocks(const ApiEvent& call) {
  return call.api == Api::stream_synchronize || call.api == Api::device_synchronize ||
         call.api == Api::event_synchronize;
}

}  // namespace

TEST_CASE("nsys: the mock export holds what its program did") {
  const std::string path = public_trace("nsys/nsysai_mock.sqlite");
  if (path.empty()) return;
  const Timeline timeline = load_recording(path).timeline;
  CHECK(work_where(timeline, [](const WorkEvent& w) { return w.kind == WorkKind::kernel; }) == 2);
  REQUIRE(calls_of(timeline, Api::memcpy_async_d2h_pinned) == 1);
  CHECK(calls_where(timeline, [](const ApiEvent& c) {
          return c.api == Api::memcpy_async_d2h_pinned && c.bytes == 4 && c.space == MemorySpace::pinned;
        }) == 1);
  // Stored as syncType 2, which the export's own enum calls a stream's wait.
  CHECK(calls_of(timeline, Api::stream_synchronize) == 1);
  CHECK(calls_of(timeline, Api::stream_wait_event) == 0);
  CHECK(calls_of(timeline, Api::malloc) == 1);
  CHECK(calls_of(timeline, Api::malloc_host) == 1);
  CHECK(calls_of(timeline, Api::launch_kernel) == 2);
  CHECK(timeline.problems.empty());
}

TEST_CASE("nsys: two processes with the same correlation ids are kept apart") {
  const std::string path = public_trace("nsys/nsysai_mfu_2gpu_after.sqlite");
  if (path.empty()) return;
  const Timeline timeline = load_recording(path).timeline;
  CHECK(calls_of(timeline, Api::stream_synchronize) == 30);
  CHECK(calls_of(timeline, Api::event_query) == 124);
  CHECK(calls_of(timeline, Api::stream_wait_event) == 180);
  // 30 + 124 + 180: every row of the synchronization table belongs to one call and no other.
  CHECK(calls_where(timeline, blocks) == 30);
  CHECK(calls_of(timeline, Api::exchange_capture_mode) == 128);
  CHECK(work_where(timeline, [](const WorkEvent& w) {
          return w.direction == CopyDirection::h2d && w.source_space == MemorySpace::pageable && w.bytes == 8;
        }) == 32);
  // The export was cut out of a longer one: two of these, and two other copies, have lost their calls.
  CHECK(calls_of(timeline, Api::memcpy_async_h2d_pageable) == 30);
  CHECK(has_limit(timeline, "unmatched-work"));
  CHECK(work_where(timeline, [](const WorkEvent& w) { return w.kind == WorkKind::kernel; }) == 3587);
  CHECK(work_where(timeline, [](const WorkEvent& w) { return w.kind == WorkKind::copy; }) == 904);
  CHECK(has_limit(timeline, "api-calls-skipped"));
  CHECK(has_limit(timeline, "graph-mode"));
}

TEST_CASE("nsys: synchronous copies are blocking and pageable in both directions") {
  const std::string path = public_trace("nsys/pipit_cloverleaf.sqlite");
  if (path.empty()) return;
  const Timeline timeline = load_recording(path).timeline;
  CHECK(calls_of(timeline, Api::launch_kernel) == 1312);
  CHECK(calls_of(timeline, Api::device_synchronize) == 1312);
  CHECK(calls_of(timeline, Api::memcpy_h2d) == 254);
  CHECK(calls_of(timeline, Api::memcpy_d2h) == 25);
  CHECK(calls_where(timeline, [](const ApiEvent& c) {
          return c.space == MemorySpace::pageable || c.source_space == MemorySpace::pageable;
        }) == 279);
  CHECK(calls_of(timeline, Api::malloc) == 76);
  CHECK(calls_of(timeline, Api::free) == 68);
  CHECK_FALSE(has_limit(timeline, "graph-mode"));
}

TEST_CASE("nsys: an export without one CUDA table is read and holds nothing") {
  const std::string path = public_trace("nsys/jacc_report1_no_cuda_tables.sqlite");
  if (path.empty()) return;
  const Recording recording = load_recording(path);
  CHECK(recording.has_timeline);
  CHECK(recording.timeline.empty());
  CHECK(has_limit(recording.timeline, "ranges-incomplete"));
}
