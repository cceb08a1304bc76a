// Rules 209 and 701 to 707 on calls that are written out here: what counts as
// growth, as a rebuild, as a fall and as an overlap. Their cases are in tests/cases.
#include <set>
#include <string>
#include <vector>

#include "audit/audit.hpp"
#include "tests/audit/build.hpp"
#include "tests/audit/calls.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::vector<Finding> findings_of(const Calls& calls, const std::string& rule) {
  std::vector<Finding> found;
  for (const Finding& finding : audit(Subject{{calls.recording}}).findings())
    if (finding.rule == rule) found.push_back(finding);
  return found;
}

/// Ties graph exec 21 to a graph of five kernels.
Calls server() {
  Calls calls;
  calls.graph(11, graph_of({op("a"), op("b"), op("c"), op("d"), op("e")}, {}));
  calls.call(Api::graph_instantiate, 0, 11, 21);
  return calls;
}

template <class Body>
void step(Calls& calls, Body body, std::uint32_t thread = 1) {
  RangeEvent range;
  range.thread = thread;
  range.step = true;
  range.first = calls.now() + 1;
  body();
  range.last = calls.now();
  calls.recording.timeline.ranges.push_back(range);
}

/// Live bytes after each step.
Calls with_live(const std::vector<std::uint64_t>& live) {
  Calls calls = server();
  Address next = 0x7000;
  std::vector<Address> held;
  for (const std::uint64_t wanted : live)
    step(calls, [&] {
      calls.call(Api::graph_launch, 3, 21);
      for (; held.size() > wanted; held.pop_back()) calls.call(Api::free_async, 3).address = held.back();
      for (; held.size() < wanted; next += 0x1000) {
        ApiEvent& call = calls.call(Api::malloc_async, 3);
        call.address = next;
        call.bytes = 1;
        held.push_back(next);
      }
    });
  return calls;
}

}  // namespace

TEST_CASE("RF209: four rises in a row up to the last step are growth, and any pause ends them") {
  CHECK(findings_of(with_live({1, 2, 3, 4, 5}), "RF209").size() == 1);
  CHECK(findings_of(with_live({1, 2, 3, 4}), "RF209").empty());
  CHECK(findings_of(with_live({1, 2, 3, 4, 4}), "RF209").empty());
  CHECK(findings_of(with_live({1, 2, 3, 4, 5, 4}), "RF209").empty());
  CHECK(findings_of(with_live({5, 4, 5, 6, 7, 8}), "RF209").size() == 1);
  // What goes up and down inside a step is not growth.
  CHECK(findings_of(with_live({3, 3, 3, 3, 3, 3}), "RF209").empty());
}

TEST_CASE("RF209: an allocation that came back with an error holds nothing") {
  Calls calls = with_live({1, 1, 1, 1, 1, 1});
  for (ApiEvent& call : calls.recording.timeline.calls)
    if (call.api == Api::malloc_async) call.code = 2;
  CHECK(findings_of(calls, "RF209").empty());
}

TEST_CASE("RF209: free memory counts only where the program asked in every step") {
  for (const bool every : {true, false}) {
    Calls calls = server();
    for (std::uint64_t i = 0; i < 6; ++i)
      step(calls, [&] {
        calls.call(Api::graph_launch, 3, 21);
        if (every || i % 2 == 0) calls.call(Api::mem_get_info).bytes = 1000 - i;
      });
    CHECK(findings_of(calls, "RF209").size() == (every ? 1 : 0));
  }
}

TEST_CASE("RF701: kernels of the step's own thread between its first and its last replay") {
  const auto breaks = [](const std::vector<Api>& order, std::uint32_t capture = 0) {
    Calls calls = server();
    step(calls, [&] {
      for (const Api api : order) calls.call(api, 3, api == Api::graph_launch ? 21 : 0).capture = capture;
    });
    return findings_of(calls, "RF701").size();
  };
  CHECK(breaks({Api::graph_launch, Api::launch_kernel, Api::graph_launch}) == 1);
  CHECK(breaks({Api::graph_launch, Api::launch_kernel_first_use, Api::graph_launch}) == 1);
  CHECK(breaks({Api::launch_kernel, Api::graph_launch, Api::graph_launch, Api::launch_kernel}) == 0);
  CHECK(breaks({Api::launch_kernel, Api::launch_kernel}) == 0);
  CHECK(breaks({Api::graph_launch, Api::memset_async, Api::graph_launch}) == 0);
}

TEST_CASE("RF701: kernels between the replays of two steps are no break of either") {
  Calls calls = server();
  for (int i = 0; i < 3; ++i) {
    step(calls, [&] { calls.call(Api::graph_launch, 3, 21); });
    calls.call(Api::launch_kernel, 3);
  }
  CHECK(findings_of(calls, "RF701").empty());
}

TEST_CASE("RF702: a cache that fills and is emptied at the end is no churn") {
  Calls calls = server();
  for (std::uint64_t i = 0; i < 20; ++i) {
    calls.graph(100 + i, graph_of({op("a")}, {}));
    calls.call(Api::graph_instantiate, 0, 100 + i, 200 + i);
    calls.call(Api::graph_launch, 3, 200 + i);
  }
  for (std::uint64_t i = 0; i < 20; ++i) calls.call(Api::graph_exec_destroy, 0, 200 + i);
  CHECK(findings_of(calls, "RF702").empty());
  // An exec made afterwards shows that they were given up for it.
  calls.call(Api::graph_instantiate, 0, 100, 300);
  CHECK(findings_of(calls, "RF702").size() == 1);
}

TEST_CASE("RF702: execs that were built and never launched are no churn: a dry run") {
  Calls calls = server();
  for (std::uint64_t i = 0; i < 20; ++i) {
    calls.call(Api::graph_instantiate, 0, 11, 200 + i);
    calls.call(Api::graph_exec_destroy, 0, 200 + i);
  }
  CHECK(findings_of(calls, "RF702").empty());
}

TEST_CASE("RF703: three steps of each name may load, the fourth may not") {
  for (const std::size_t at : {std::size_t{2}, std::size_t{3}}) {
    for (const Api api : {Api::module_load, Api::module_unload, Api::launch_kernel_first_use}) {
      Calls calls = server();
      for (std::size_t i = 0; i < 5; ++i)
        step(calls, [&] {
          if (i == at) calls.call(api, api == Api::launch_kernel_first_use ? 3 : 0);
          calls.call(Api::graph_launch, 3, 21);
        });
      CHECK(findings_of(calls, "RF703").size() == (at == 3 ? 1 : 0));
    }
  }
}

TEST_CASE("RF704: steps that launch nothing are neither covered nor fallen") {
  Calls calls = server();
  for (int i = 0; i < 8; ++i)
    step(calls, [&] {
      if (i < 4) calls.call(Api::graph_launch, 3, 21);
      calls.call(Api::stream_query, 3);
    });
  CHECK(findings_of(calls, "RF704").empty());
}

TEST_CASE("RF706: a query that came back 600 orders nothing, one that came back 0 does") {
  for (const std::int32_t code : {0, 600}) {
    Calls calls = server();
    calls.call(Api::graph_launch, 3, 21);
    calls.call(Api::stream_query, 3).code = code;
    calls.call(Api::graph_launch, 4, 21);
    CHECK(findings_of(calls, "RF706").size() == (code == 0 ? 0 : 1));
  }
}

TEST_CASE("RF706: execs of one graph and launches that failed are not serialised") {
  Calls calls = server();
  calls.call(Api::graph_instantiate, 0, 11, 22);
  calls.call(Api::graph_launch, 3, 21);
  calls.call(Api::graph_launch, 4, 22);
  calls.call(Api::graph_launch, 5, 21).code = 1;
  CHECK(findings_of(calls, "RF706").empty());
}

TEST_CASE("RF707: NCCL kernels without parameters leave it unchecked") {
  Calls calls;
  calls.graph(11, graph_of({unknown("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)")}, {}));
  calls.call(Api::graph_instantiate, 0, 11, 21);
  calls.call(Api::graph_launch, 3, 21);
  CHECK_FALSE(audit(Subject{{calls.recording}}).was_checked("RF707"));
  CHECK(audit(Subject{{server().recording}}).was_checked("RF707"));
}

TEST_CASE("RF702: an exec that takes new parameters from its own graph in every step is used as it should be") {
  for (const bool captured_again : {false, true}) {
    Calls calls = server();
    for (std::uint64_t i = 0; i < 6; ++i)
      step(calls, [&] {
        calls.call(Api::graph_exec_update, 0, 21, captured_again ? 100 + i : 11);
        calls.call(Api::graph_launch, 3, 21);
      });
    CHECK(findings_of(calls, "RF702").size() == (captured_again ? 1 : 0));
  }
}
