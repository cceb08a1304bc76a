#include "audit/rules/stream_order.hpp"

#include "audit/rules/unjoined.hpp"
#include "tests/audit/calls.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

ApiEvent event(Api api, std::uint32_t stream = 0, std::uint64_t object = 0) {
  ApiEvent call;
  call.api = api;
  call.stream = stream;
  call.object = object;
  return call;
}

}  // namespace

TEST_CASE("stream order: the host has waited once its stream, the device or a later event is done") {
  OrderedAfter after(3);
  CHECK_FALSE(after.follow(event(Api::stream_synchronize, 4)));
  CHECK(after.follow(event(Api::stream_synchronize, 3)));
  CHECK(after.follow(event(Api::device_synchronize)));
  CHECK_FALSE(after.follow(event(Api::event_synchronize, 0, 7)));  // recorded before, or never
  CHECK_FALSE(after.follow(event(Api::event_record, 3, 7)));
  CHECK(after.follow(event(Api::event_synchronize, 0, 7)));
}

TEST_CASE("stream order: an event that is recorded again elsewhere says nothing any more") {
  OrderedAfter after(3);
  CHECK_FALSE(after.follow(event(Api::event_record, 3, 7)));
  CHECK_FALSE(after.follow(event(Api::event_record, 5, 7)));
  CHECK_FALSE(after.follow(event(Api::event_query, 0, 7)));
}

TEST_CASE("stream order: a query that is not ready covers nothing") {
  OrderedAfter after(3);
  ApiEvent query = event(Api::stream_query, 3);
  query.code = 600;
  CHECK_FALSE(after.follow(query));
  query.code = 0;
  CHECK(after.follow(query));
}

TEST_CASE("stream order: a stream that waits for an event is ordered after it, and so on") {
  OrderedAfter after(3);
  CHECK_FALSE(after.orders(event(Api::launch_kernel, 4)));
  (void)after.follow(event(Api::event_record, 3, 7));
  (void)after.follow(event(Api::stream_wait_event, 4, 7));
  (void)after.follow(event(Api::event_record, 4, 8));
  (void)after.follow(event(Api::stream_wait_event, 5, 8));
  CHECK(after.orders(event(Api::launch_kernel, 5)));
  CHECK_FALSE(after.orders(event(Api::launch_kernel, 6)));
  CHECK(after.follow(event(Api::stream_synchronize, 5)));
}

TEST_CASE("stream order: a record that was captured orders nothing") {
  OrderedAfter after(3);
  ApiEvent record = event(Api::event_record, 3, 7);
  record.capture = 1;
  record.target = Target::capturing;
  CHECK_FALSE(after.follow(record));
  CHECK_FALSE(after.follow(event(Api::event_synchronize, 0, 7)));
}

namespace {

/// A capture of stream 3 whose calls are added by `calls`.
std::vector<OpenFork> open_forks(const Calls& calls) {
  CaptureWindow window;
  window.stream = 3;
  for (const ApiEvent& call : calls.recording.timeline.calls) window.calls.push_back(&call);
  return unjoined_forks(window);
}

void wait_for(Calls& calls, std::uint32_t from, std::uint32_t to, std::uint64_t object) {
  calls.call(Api::event_record, from, object);
  calls.call(Api::stream_wait_event, to, object);
}

}  // namespace

TEST_CASE("unjoined: a fork is joined by an event after its last work") {
  Calls calls;
  wait_for(calls, 3, 4, 1);
  calls.call(Api::launch_kernel, 4);
  CHECK(open_forks(calls).size() == 1);
  wait_for(calls, 4, 3, 2);
  CHECK(open_forks(calls).empty());
  calls.call(Api::launch_kernel, 4);
  const auto forks = open_forks(calls);
  REQUIRE(forks.size() == 1);
  CHECK(forks[0].stream == 4);
  REQUIRE(forks[0].last != nullptr);
  CHECK(forks[0].last->sequence == 6);
}

TEST_CASE("unjoined: a join through another fork counts") {
  Calls calls;
  wait_for(calls, 3, 4, 1);
  wait_for(calls, 4, 5, 2);
  calls.call(Api::launch_kernel, 5);
  wait_for(calls, 5, 4, 3);
  CHECK(open_forks(calls).size() == 2);
  wait_for(calls, 4, 3, 4);
  CHECK(open_forks(calls).empty());
}

TEST_CASE("unjoined: an external record joins nothing and is told") {
  Calls calls;
  wait_for(calls, 3, 4, 1);
  calls.call(Api::launch_kernel, 4);
  calls.call(Api::event_record_external, 4, 2);
  calls.call(Api::stream_wait_event_external, 3, 2);
  const auto forks = open_forks(calls);
  REQUIRE(forks.size() == 1);
  CHECK(forks[0].external);
}

TEST_CASE("unjoined: a stream that never took part is none") {
  Calls calls;
  calls.call(Api::event_record, 6, 1);
  calls.call(Api::stream_wait_event, 4, 1);
  calls.call(Api::launch_kernel, 4);
  CHECK(open_forks(calls).empty());
}
