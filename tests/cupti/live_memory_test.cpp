// Memory of a running program: births and deaths by calls, and what a look at the
// pointers of a graph at its launch finds.
#include <algorithm>
#include <set>

#include "audit/audit.hpp"
#include "tests/catch.hpp"
#include "tests/cupti/live_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::uint64_t kStream = 0x5500;
constexpr PointerChecks kByCallsAlone{0, 0};

std::set<std::string> errors_of(Recording recording) {
  const Subject subject{{std::move(recording)}};
  const Report report = audit(subject);
  std::set<std::string> rules;
  for (const Finding& finding : report.findings())
    if (finding.severity == Severity::error) rules.insert(finding.rule);
  return rules;
}

void capture(LiveWorld& world, const WalkedGraph& graph) {
  world.fake.graphs[0x90] = graph;
  world.begin(kStream);
  world.launch(kStream);
  world.end(kStream, 0x90);
  world.instantiate(0x90, 0xa0);
}

WalkedGraph copy_from(Address host) {
  WalkedGraph walked;
  Node node;
  node.kind = NodeKind::memcpy;
  node.name = "memcpy";
  node.copy = CopyInfo{host, 0x1000, 64, MemorySpace::pageable, MemorySpace::device};
  walked.graph.nodes.push_back(std::move(node));
  walked.handles = {0xabc};
  return walked;
}

}  // namespace

TEST_CASE("live memory: a freed input of a graph that is launched again is rule 401") {
  LiveWorld world(kByCallsAlone);
  world.allocate(0x1000, 4096);
  capture(world, kernel_over(world.fake.memory[0x1000]));
  world.replay(0xa0, kStream);
  world.free(0x1000);
  world.replay(0xa0, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF401"});
}

TEST_CASE("live memory: another allocation at the address of a freed one is rule 402") {
  LiveWorld world(kByCallsAlone);
  world.allocate(0x1000, 4096);
  capture(world, kernel_over(world.fake.memory[0x1000]));
  world.free(0x1000);
  world.allocate(0x1000, 4096);
  world.replay(0xa0, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF402"});
}

TEST_CASE("live memory: a free that no call showed is found by the look at the launch") {
  for (const bool reused : {false, true}) {
    LiveWorld world;
    capture(world, kernel_over(world.fake.allocate(0x1000, 4096)));
    world.replay(0xa0, kStream);
    world.fake.release(0x1000);
    if (reused) world.fake.allocate(0x1000, 4096);
    world.replay(0xa0, kStream);
    CHECK(errors_of(world.recording()) == std::set<std::string>{reused ? "RF402" : "RF401"});
  }
}

TEST_CASE("live memory: where the policy does not look a hidden free is not seen") {
  LiveWorld world(PointerChecks{1, 0});
  capture(world, kernel_over(world.fake.allocate(0x1000, 4096)));
  world.replay(0xa0, kStream);
  world.fake.release(0x1000);
  world.replay(0xa0, kStream);
  CHECK(errors_of(world.recording()).empty());
}

TEST_CASE("live memory: a range that the program maps again is the same memory") {
  LiveWorld world;
  world.driver("cuMemAddressReserve", {.address = 0x1000, .bytes = 0x10000});
  capture(world, kernel_over(world.fake.allocate(0x1000, 4096)));
  world.fake.release(0x1000);
  world.fake.allocate(0x1000, 4096);  // a new number of the driver's, the arena's own range
  world.replay(0xa0, kStream);
  CHECK(errors_of(world.recording()).empty());
}

TEST_CASE("live memory: a local variable of a function that returned is rule 403") {
  LiveWorld world;
  const Address local = world.fake.stack + 0x100;
  capture(world, copy_from(local));
  world.fake.caller = local + 0x200;  // the stack ends above it by now
  world.replay(0xa0, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF403"});
}

TEST_CASE("live memory: a local variable of a function that still runs is a pageable copy and no dead pointer") {
  LiveWorld world;
  const Address local = world.fake.stack + 0x100;
  capture(world, copy_from(local));
  world.fake.caller = local - 0x40;
  world.replay(0xa0, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF103"});
}

TEST_CASE("live memory: host memory that is no longer mapped is rule 403") {
  LiveWorld world;
  capture(world, copy_from(0x4000));
  world.fake.unmapped = 0x4000;
  world.replay(0xa0, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF403"});
}

TEST_CASE("live memory: frees inside a caching allocator are said to be not checked") {
  LiveWorld world;
  world.allocate(0x1000, 4096);
  capture(world, kernel_over(world.fake.memory[0x1000]));
  world.replay(0xa0, kStream);
  const Subject subject{{world.recording({{std::string(kCachingAllocator), "tensors are not seen as freed", 1}})}};
  const Report report = audit(subject);
  CHECK_FALSE(report.was_checked("RF401"));
  CHECK_FALSE(report.was_checked("RF402"));
}

TEST_CASE("live memory: what an allocator does inside ranges that it maps itself is said to be not checked") {
  LiveWorld own;
  own.driver("cuMemAddressReserve", {.address = 0x1000, .bytes = 0x10000});
  capture(own, kernel_over(own.fake.allocate(0x1000, 4096)));
  own.replay(0xa0, kStream);
  CHECK_FALSE(audit(Subject{{own.recording()}}).was_checked("RF401"));

  LiveWorld beside;  // such a range is there and no graph leads into it
  beside.driver("cuMemAddressReserve", {.address = 0x100000, .bytes = 0x10000});
  beside.allocate(0x1000, 4096);
  capture(beside, kernel_over(beside.fake.memory[0x1000]));
  beside.replay(0xa0, kStream);
  CHECK(audit(Subject{{beside.recording()}}).was_checked("RF401"));
}
