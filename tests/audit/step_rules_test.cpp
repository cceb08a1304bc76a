// Rules 102, 103, 104 and 106 on calls that are written out here: which calls a step
// has, which wait is the expected one, and what belongs to whom.
#include <set>
#include <string>
#include <vector>

#include "audit/audit.hpp"
#include "audit/steps.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

class Trace {
 public:
  Trace& call(Api api, std::uint32_t stream = 1, std::uint64_t object = 0) {
    ApiEvent event;
    event.sequence = ++sequence_;
    event.start_ns = sequence_ * 1000;
    event.end_ns = event.start_ns + 500;
    event.thread = thread;
    event.stream = stream;
    event.object = object;
    event.capture = capture;
    event.api = api;
    timeline_.calls.push_back(event);
    return *this;
  }
  Trace& open() {
    first_.push_back(sequence_ + 1);
    return *this;
  }
  Trace& close(bool step = true) {
    RangeEvent range;
    range.first = first_.back();
    range.last = sequence_;
    range.thread = thread;
    range.step = step;
    first_.pop_back();
    timeline_.ranges.push_back(range);
    return *this;
  }
  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] Report report() const { return audit({{{"calls", {}, timeline_, true}}}); }
  /// But those of group 8: the graphs that these calls launch are not written out.
  [[nodiscard]] std::vector<Finding> findings() const {
    std::vector<Finding> found = report().findings();
    std::erase_if(found, [](const Finding& finding) { return finding.rule.starts_with("RF8"); });
    return found;
  }
  [[nodiscard]] std::multiset<std::string> rules() const {
    std::multiset<std::string> ids;
    for (const Finding& finding : findings()) ids.insert(finding.rule);
    return ids;
  }
  std::uint32_t thread = 1, capture = 0;

 private:
  Timeline timeline_;
  std::uint64_t sequence_ = 0;
  std::vector<std::uint64_t> first_;
};

using Ids = std::multiset<std::string>;

}  // namespace

TEST_CASE("steps: a call belongs to the innermost step of its own thread") {
  Trace trace;
  trace.call(Api::graph_launch).open().call(Api::graph_launch);
  trace.open().call(Api::launch_kernel).call(Api::launch_kernel).close();
  trace.thread = 2;
  trace.call(Api::stream_query);
  trace.thread = 1;
  trace.call(Api::stream_synchronize).close().call(Api::stream_synchronize);
  const auto steps = steps_of(trace.timeline());
  REQUIRE(steps.size() == 2);
  REQUIRE(steps[0].calls.size() == 2);  // the outer one began first
  CHECK(steps[0].calls[0]->api == Api::graph_launch);
  CHECK(steps[0].calls[1]->api == Api::stream_synchronize);
  CHECK(steps[1].calls.size() == 2);
  CHECK(steps[1].number == 2);
}

TEST_CASE("steps: calls in a capture of the step's thread are no part of it, those beside another's capture are") {
  Trace trace;
  trace.open();
  trace.capture = 1;
  trace.call(Api::begin_capture).call(Api::launch_kernel).call(Api::end_capture);
  trace.capture = 0;
  trace.call(Api::graph_launch);
  trace.thread = 2;
  trace.capture = 2;
  trace.call(Api::begin_capture, 5);
  trace.thread = 1;
  trace.call(Api::stream_synchronize).close();
  const auto steps = steps_of(trace.timeline());
  REQUIRE(steps.size() == 1);
  REQUIRE(steps[0].calls.size() == 2);
  CHECK(steps[0].calls[1]->api == Api::stream_synchronize);
}

TEST_CASE("RF102: the waits after the last work of a step are expected, also two of them") {
  Trace last, between;
  last.open().call(Api::graph_launch).call(Api::event_synchronize).call(Api::stream_synchronize).close();
  between.open().call(Api::graph_launch).call(Api::stream_synchronize).call(Api::graph_launch).close();
  CHECK(last.rules() == Ids{});
  CHECK(between.rules() == Ids{"RF102"});
}

TEST_CASE("RF102: a step that launches nothing, and a range that is no step, have no finding") {
  Trace idle, range;
  idle.open().call(Api::stream_synchronize).call(Api::device_synchronize).close();
  range.open().call(Api::graph_launch).call(Api::stream_synchronize).call(Api::graph_launch).close(false);
  CHECK(idle.rules() == Ids{});
  CHECK(range.rules() == Ids{});
  CHECK_FALSE(range.report().was_checked("RF102"));  // nothing says what a step is
  CHECK(idle.report().was_checked("RF102"));
}

TEST_CASE("RF102: one API in many steps is one finding that names the worst") {
  Trace trace;
  for (int step = 0; step < 5; ++step) {
    trace.open().call(Api::graph_launch).call(Api::stream_synchronize);
    if (step == 3) trace.call(Api::stream_synchronize);
    trace.call(Api::graph_launch).close();
  }
  const auto found = trace.findings();
  REQUIRE(found.size() == 1);
  CHECK(found[0].count == 6);
  CHECK(found[0].where.starts_with("step 4 of 5"));
  CHECK(found[0].message.find("6 times in 5 of 5 steps") != std::string::npos);
}

TEST_CASE("RF103: the sync of a pageable copy is its second fact, a sync after more work is a finding of its own") {
  Trace one, two, other_stream;
  one.open().call(Api::memcpy_async_d2h_pageable).call(Api::stream_synchronize).call(Api::graph_launch).close();
  two.open().call(Api::memcpy_async_d2h_pageable).call(Api::graph_launch).call(Api::stream_synchronize);
  two.call(Api::graph_launch).close();
  other_stream.open().call(Api::memcpy_async_d2h_pageable).call(Api::stream_synchronize, 2);
  other_stream.call(Api::graph_launch).close();
  CHECK(one.rules() == Ids{"RF103"});
  CHECK(two.rules() == Ids{"RF102", "RF103"});
  CHECK(other_stream.rules() == Ids{"RF102", "RF103"});
  const auto found = one.findings();
  const auto& evidence = found.at(0).evidence;
  CHECK(evidence.back() == "1 of them is followed by cudaStreamSynchronize, which waits for the same copy");
}

TEST_CASE("RF103: an event behind the copy is waited for as the copy is, another event is not") {
  Trace own, foreign;
  own.open().call(Api::memcpy_async_h2d_pageable).call(Api::event_record, 1, 7).call(Api::event_synchronize, 0, 7);
  own.call(Api::graph_launch).close();
  foreign.open().call(Api::memcpy_async_h2d_pageable).call(Api::event_record, 1, 7);
  foreign.call(Api::event_synchronize, 0, 8).call(Api::graph_launch).close();
  CHECK(own.rules() == Ids{"RF103"});
  CHECK(foreign.rules() == Ids{"RF102", "RF103"});
}

TEST_CASE("RF103: fills are no copies, and without graphs and steps it is not checked") {
  Trace fill, bare;
  fill.open().call(Api::memset_async).call(Api::graph_launch).close();
  bare.call(Api::memcpy_d2h);
  CHECK(fill.rules() == Ids{});
  CHECK(bare.rules() == Ids{});
  CHECK_FALSE(bare.report().was_checked("RF103"));
  CHECK(test::audit_graphs({test::graph_of({}, {})}).was_checked("RF103"));  // it has no copy
}

TEST_CASE("RF104: 64 queries are a storm and 63 are none, whichever of the two queries they are") {
  for (const int queries : {63, 64}) {
    Trace trace;
    trace.open().call(Api::graph_launch);
    for (int i = 0; i < queries; ++i) trace.call(i < 40 ? Api::stream_query : Api::event_query);
    trace.close();
    CHECK(trace.rules() == (queries == 64 ? Ids{"RF104"} : Ids{}));
  }
}

TEST_CASE("RF104: queries between launches are an allocator's and no storm however many they are") {
  Trace trace;
  trace.open();
  for (int i = 0; i < 1000; ++i) {
    trace.call(Api::event_query);
    if (i % 63 == 62) trace.call(Api::launch_kernel);
  }
  trace.close();
  CHECK(trace.rules() == Ids{});
}

TEST_CASE("RF106: memory calls in a step are implicit syncs, those of the stream-ordered allocator are not") {
  for (const Api api : {Api::malloc, Api::free, Api::malloc_host, Api::free_host, Api::host_register,
                        Api::malloc_managed, Api::device_set_limit}) {
    INFO(to_string(api));
    CHECK(Trace().open().call(Api::graph_launch).call(api, 0).close().rules() == Ids{"RF106"});
  }
  for (const Api api : {Api::malloc_async, Api::free_async, Api::mem_get_info, Api::event_create}) {
    INFO(to_string(api));
    CHECK(Trace().open().call(Api::graph_launch).call(api).close().rules() == Ids{});
  }
}
