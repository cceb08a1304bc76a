// Rules 705 and 804 on device records that are written out here: what is a gap and
// what has another cause, and whose work has no call.
#include <functional>
#include <set>
#include <string>

#include "audit/audit.hpp"
#include "tests/catch.hpp"
#include "tests/traces/step_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

using Ids = std::multiset<std::string>;

Ids rules_of(const Timeline& timeline) {
  Ids ids;
  for (const Finding& finding : audit({{{"trace", {}, timeline, true}}}).findings()) ids.insert(finding.rule);
  return ids;
}

void replay(StepWorld& world) {
  world.launch(1);
  world.work(world.now_ns, world.now_ns + 20'000);
}

/// Steps of 200 us: an event record, then `prepare`, then a replay of 20 us whose result is awaited.
Timeline steps(int count, const std::function<void(StepWorld&, int)>& prepare) {
  StepWorld world;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t begin = world.now_ns;
    world.open("decode_step_" + std::to_string(i));
    world.call(Api::event_record);
    prepare(world, i);
    replay(world);
    world.call(Api::event_synchronize);
    world.now_ns = begin + 200'000;
    world.close(true);
  }
  return world.timeline;
}

Timeline pauses(int count, std::uint64_t ns, int slow = 99) {
  return steps(count, [=](StepWorld& world, int i) { world.now_ns += i < slow ? ns : 0; });
}

/// Work on a stream of a process, handed out by the last call or by none.
void work(StepWorld& world, std::uint32_t process, std::uint32_t stream, bool has_call) {
  WorkEvent& work = world.work(world.now_ns, world.now_ns + 5);
  world.now_ns += 5;
  work.process = process;
  work.stream = stream;
  if (!has_call) work.call = WorkEvent::kNoCall;
}

}  // namespace

TEST_CASE("RF705: a quarter of the step in three steps and half of a kind is a gap and less is none") {
  CHECK(rules_of(pauses(4, 100'000)) == Ids{"RF705"});
  CHECK(rules_of(pauses(4, 49'000)) == Ids{});  // under a quarter of 200 us, and under 50 us
  CHECK(rules_of(pauses(2, 100'000)) == Ids{});
  CHECK(rules_of(pauses(6, 100'000, 3)) == Ids{"RF705"});
  CHECK(rules_of(pauses(7, 100'000, 3)) == Ids{});
}

TEST_CASE("RF705: where the host waited or launched kernels between replays the gap is their rule's") {
  const Timeline waited = steps(4, [](StepWorld& world, int) {
    replay(world);
    world.call(Api::stream_synchronize);
    world.now_ns += 100'000;
  });
  const Timeline eager = steps(4, [](StepWorld& world, int) {
    replay(world);
    world.now_ns += 100'000;
    world.call(Api::launch_kernel, "sample");
    world.work(world.now_ns, world.now_ns + 5);
  });
  const Timeline neither = steps(4, [](StepWorld& world, int) {
    replay(world);
    world.now_ns += 100'000;
  });
  CHECK(rules_of(waited) == Ids{"RF102"});
  CHECK(rules_of(eager) == Ids{"RF701"});
  CHECK(rules_of(neither) == Ids{"RF705"});
}

TEST_CASE("RF705: another device at work does not fill the gap and the step's own does") {
  for (const std::uint32_t device : {0u, 1u}) {
    const Timeline timeline = steps(4, [&](StepWorld& world, int) {
      world.call(Api::memcpy_async_h2d_pinned);
      world.work(world.now_ns, world.now_ns + 100'000, WorkKind::copy).device = device;
      world.now_ns += 100'000;
    });
    CHECK(rules_of(timeline) == (device == 0 ? Ids{} : Ids{"RF705"}));
  }
}

TEST_CASE("RF705: without device records it is not checked") {
  Timeline timeline = pauses(4, 100'000);
  timeline.work.clear();
  const Report report = audit({{{"trace", {}, timeline, true}}});
  CHECK_FALSE(report.was_checked("RF705"));
}

TEST_CASE("RF804: work without a call counts behind work of a recorded one on its stream") {
  StepWorld first, behind, other_stream;
  for (StepWorld* world : {&first, &behind, &other_stream}) world->call(Api::launch_kernel);
  work(first, 1, 7, false);
  work(first, 1, 7, true);
  work(behind, 1, 7, true);
  work(behind, 1, 7, false);
  work(other_stream, 1, 7, true);
  work(other_stream, 1, 8, false);
  CHECK(rules_of(first.timeline) == Ids{});
  CHECK(rules_of(behind.timeline) == Ids{"RF804"});
  CHECK(rules_of(other_stream.timeline) == Ids{});
}

TEST_CASE("RF804: work of a process of which no call was recorded counts and makes exit code 3") {
  StepWorld world;
  world.call(Api::launch_kernel);
  work(world, 1, 7, true);
  work(world, 2, 7, false);
  const Report report = audit({{{"trace", {}, world.timeline, true}}});
  REQUIRE(report.findings().size() == 1);
  CHECK(report.findings()[0].rule == "RF804");
  CHECK(report.findings()[0].count == 1);
  CHECK(report.exit_code() == 3);
}
