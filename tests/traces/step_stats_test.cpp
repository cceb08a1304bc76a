// Figures of steps: values computed by hand, and random timelines beside a count
// that looks at every call and every piece of work for every step.
#include "traces/step_stats.hpp"

#include <algorithm>
#include <ctime>
#include <random>

#include "tests/catch.hpp"
#include "tests/traces/step_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

const Tally& copies(const StepStats& step, CopyClass c) {
  return step.copies[static_cast<std::size_t>(c)];
}

/// What one step cost, by looking at everything: a mark for every nanosecond that the device was busy.
struct Naive {
  std::uint64_t replays = 0, nodes = 0, eager = 0, syncs = 0, wait_ns = 0, pageable = 0, busy_ns = 0, idle_ns = 0;
  bool device = false;
};

Naive naive(const Timeline& t, const RangeEvent& step) {
  const auto mine = [&](const ApiEvent& call) {
    if (call.thread != step.thread || call.sequence < step.first || call.sequence > step.last) return false;
    return std::none_of(t.ranges.begin(), t.ranges.end(), [&](const RangeEvent& other) {  // a step inside has it
      return other.step && other.thread == step.thread && other.first > step.first && other.last < step.last &&
             call.sequence >= other.first && call.sequence <= other.last;
    });
  };
  Naive out;
  std::vector<bool> busy;
  std::uint64_t first = ~std::uint64_t{0}, last = 0;
  for (const ApiEvent& call : t.calls) {
    if (!mine(call)) continue;
    if (call.api == Api::graph_launch) ++out.replays;
    if (call.api == Api::launch_kernel) ++out.eager;
    if (call.api == Api::stream_synchronize || call.api == Api::memcpy_h2d) {
      ++out.syncs;
      out.wait_ns += call.end_ns - call.start_ns;
    }
    if (call.api == Api::memcpy_h2d || call.api == Api::memcpy_async_h2d_pageable) ++out.pageable;
    for (const WorkEvent& work : t.work) {
      if (work.call != call.sequence) continue;
      if (call.api == Api::graph_launch) ++out.nodes;
      out.device = true;
      first = std::min(first, work.start_ns);
      last = std::max(last, work.end_ns);
      if (busy.size() < work.end_ns) busy.resize(work.end_ns);
      std::fill(busy.begin() + static_cast<std::ptrdiff_t>(work.start_ns),
                busy.begin() + static_cast<std::ptrdiff_t>(work.end_ns), true);
    }
  }
  out.busy_ns = static_cast<std::uint64_t>(std::count(busy.begin(), busy.end(), true));
  if (out.device) out.idle_ns = last - first - out.busy_ns;
  return out;
}

Timeline random_timeline(std::mt19937& random) {
  constexpr Api kApis[] = {
      Api::graph_launch, Api::launch_kernel, Api::stream_synchronize, Api::memcpy_h2d, Api::memcpy_async_h2d_pageable,
      Api::stream_query};
  StepWorld world;
  int open = 0;
  for (int i = 0; i < 120; ++i) {
    if (random() % 8 == 0 && open < 3) world.open(open++ % 2 == 0 ? "decode" : "part");
    world.thread = 1 + (random() % 4 == 0);
    const Api api = kApis[random() % std::size(kApis)];
    world.call(api);
    if (api == Api::graph_launch || api == Api::launch_kernel)
      for (std::size_t n = random() % 4; n > 0; --n) {
        const std::uint64_t start = world.now_ns + random() % 60;
        world.work(start, start + 1 + random() % 40);
      }
    world.thread = 1;
    if (open > 0 && random() % 8 == 0) world.close(random() % 4 != 0), --open;
  }
  for (; open > 0; --open) world.close(true);
  std::stable_sort(world.timeline.work.begin(), world.timeline.work.end(),
                   [](const WorkEvent& a, const WorkEvent& b) { return a.start_ns < b.start_ns; });
  return world.timeline;
}

}  // namespace

TEST_CASE("step stats: a step of a replay and what stands beside it is counted by hand") {
  StepWorld world;
  world.launch(9);  // before the steps: [0, 10)
  world.work(20, 60);
  world.now_ns = 100;
  world.open("decode bucket 8");
  world.call(Api::memcpy_async_h2d_pinned).bytes = 64;  // 100
  world.work(112, 114, WorkKind::copy);
  world.launch(9);  // 110
  world.work(130, 150);
  world.work(140, 170);
  world.work(180, 190, WorkKind::copy);
  world.call(Api::launch_kernel, "sample");  // 120
  world.work(190, 200);
  world.call(Api::memcpy_async_d2h_pageable).bytes = 8;  // 130
  world.call(Api::event_query);                          // 140
  world.call(Api::stream_synchronize);                   // 150
  world.call(Api::memcpy_d2h).bytes = 4;                 // 160: blocking, of memory that is not told
  world.call(Api::malloc_async);
  world.call(Api::free);
  world.call(Api::module_load);
  world.call(Api::graph_exec_update).code = 910;  // refused: nothing came of it
  world.open("attention, 5 rows");
  world.close();
  world.close(true);
  const auto steps = step_stats(world.timeline);
  REQUIRE(steps.size() == 1);
  const StepStats& s = steps[0];
  CHECK(s.start_ns == 100);
  CHECK(s.replays == 1);
  CHECK(s.replayed_nodes == 3);
  CHECK(s.replayed_copies == 1);
  CHECK_FALSE(s.captured_nodes);
  CHECK(s.eager_launches == 1);
  CHECK(s.syncs == 2);  // the stream's and the blocking copy
  CHECK(s.host_wait_ns == 20);
  CHECK(s.queries == 1);
  CHECK(copies(s, CopyClass::h2d_pinned).count == 1);
  CHECK(copies(s, CopyClass::h2d_pinned).bytes == 64);
  CHECK(copies(s, CopyClass::d2h_pageable).count == 2);
  CHECK(copies(s, CopyClass::d2h_pageable).bytes == 12);
  CHECK(s.allocations == 1);
  CHECK(s.frees == 1);
  CHECK(s.module_loads == 1);
  CHECK(s.updates == 0);
  // Busy: [112,114) [130,170) [180,200); the whole is [112,200).
  CHECK(s.device_start_ns == 112);
  CHECK(s.device_end_ns == 200);
  CHECK(s.gpu_busy_ns == 62);
  CHECK(s.gpu_idle_ns == 26);
  CHECK(s.launch_gap_ns == 20);       // launched at 110, begun at 130
  CHECK(s.between_replays_ns == 70);  // 60 to 130
  CHECK(s.rows == 8);
  CHECK(s.real_rows == 5);
}

TEST_CASE("step stats: in graph mode a replay has time and no nodes, and without device records no time at all") {
  StepWorld world;
  for (int i = 0; i < 2; ++i) {
    world.open("step");
    world.launch(1);
    if (i == 0) world.work(50, 90, WorkKind::graph);
    world.close(true);
  }
  const auto steps = step_stats(world.timeline);
  CHECK(steps[0].replays == 1);
  CHECK(steps[0].replayed_nodes == 0);
  CHECK(steps[0].gpu_busy_ns == 40);
  CHECK(steps[1].replays == 1);
  CHECK_FALSE(steps[1].gpu_busy_ns);
  CHECK_FALSE(steps[1].launch_gap_ns);
  CHECK_FALSE(steps[1].between_replays_ns);
  const StepTotals totals = total(steps);
  CHECK(totals.steps == 2);
  CHECK(totals.with_device_time == 1);
  CHECK(totals.sum.gpu_busy_ns == 40);
  CHECK_FALSE(totals.sum.between_replays_ns);
}

TEST_CASE("step stats: work that the device came to late belongs to the step that handed it out") {
  StepWorld world;
  world.open("a");
  world.call(Api::launch_kernel);
  world.work(1000, 1010);
  world.close(true);
  world.open("b");
  world.call(Api::stream_synchronize);
  world.close(true);
  const auto steps = step_stats(world.timeline);
  CHECK(steps[0].gpu_busy_ns == 10);
  CHECK(steps[0].launch_gap_ns == 1000);  // no replay: from the first launch
  CHECK_FALSE(steps[1].gpu_busy_ns);
}

TEST_CASE("step stats: captured nodes are those of described graphs and unknown where one replay's is not described") {
  StepWorld world;
  Graph graph;
  graph.nodes.resize(4);
  graph.nodes[0].bodies.resize(1);  // a child of two nodes stands for itself
  graph.nodes[0].bodies[0].nodes.resize(2);
  world.timeline.graphs.push_back({0, 70, 0});
  ApiEvent& made = world.call(Api::graph_instantiate);
  made.object = 70;
  made.made = 71;
  for (const std::uint64_t other : {std::uint64_t{71}, std::uint64_t{99}}) {
    world.open("step");
    world.launch(71);
    world.launch(other);
    world.close(true);
  }
  const auto steps = step_stats(world.timeline, std::span(&graph, 1));
  CHECK(steps[0].captured_nodes == 10);
  CHECK_FALSE(steps[1].captured_nodes);
}

TEST_CASE("step stats: the worst step is the one with the longest host range") {
  StepWorld world;
  for (const int calls : {2, 7, 3}) {
    world.open("step");
    for (int i = 0; i < calls; ++i) world.call(Api::launch_kernel);
    world.close(true);
  }
  const StepTotals totals = total(step_stats(world.timeline));
  CHECK(totals.worst == 1);
  CHECK(totals.host_ns == 120);
  CHECK(totals.sum.eager_launches == 12);
  CHECK(total({}).steps == 0);
}

TEST_CASE("step stats: random timelines give what a look at everything gives") {
  std::mt19937 random(std::random_device{}());
  for (int round = 0; round < 60; ++round) {
    const Timeline timeline = random_timeline(random);
    std::vector<const RangeEvent*> ranges;
    for (const RangeEvent& range : timeline.ranges)
      if (range.step) ranges.push_back(&range);
    std::sort(ranges.begin(), ranges.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    const auto steps = step_stats(timeline);
    REQUIRE(steps.size() == ranges.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Naive expected = naive(timeline, *ranges[i]);
      CHECK(steps[i].first == ranges[i]->first);
      CHECK(steps[i].replays == expected.replays);
      CHECK(steps[i].replayed_nodes == expected.nodes);
      CHECK(steps[i].eager_launches == expected.eager);
      CHECK(steps[i].syncs == expected.syncs);
      CHECK(steps[i].host_wait_ns == expected.wait_ns);
      CHECK(copies(steps[i], CopyClass::h2d_pageable).count == expected.pageable);
      CHECK(steps[i].gpu_busy_ns.has_value() == expected.device);
      CHECK(steps[i].gpu_busy_ns.value_or(0) == expected.busy_ns);
      CHECK(steps[i].gpu_idle_ns.value_or(0) == expected.idle_ns);
    }
  }
}

TEST_CASE("step stats: a million events take little time") {
  Timeline timeline;
  for (std::uint64_t i = 0; i < 500'000; ++i) {
    ApiEvent call;
    call.sequence = 2 * i + 1;
    call.start_ns = call.end_ns = 10 * i;
    call.thread = 1;
    call.api = i % 100 == 0 ? Api::graph_launch : Api::launch_kernel;
    timeline.calls.push_back(call);
    WorkEvent work;
    work.start_ns = 10 * i + 5;
    work.end_ns = 10 * i + 9;
    work.call = call.sequence;
    timeline.work.push_back(work);
    if (i % 100 == 0) timeline.ranges.push_back({2 * i, 2 * i + 199, 10 * i, 10 * i + 1000, 1, 0, true});
  }
  const std::clock_t start = std::clock();  // of this process: others may be busy
  const auto steps = step_stats(timeline);
  CHECK(std::clock() - start < 2 * CLOCKS_PER_SEC);
  REQUIRE(steps.size() == 5000);
  CHECK(steps[4999].eager_launches == 99);
}
