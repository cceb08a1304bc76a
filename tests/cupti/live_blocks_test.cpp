// The blocks of a caching allocator, as its hook tells of them between the calls: a
// pointer of a graph into one that was given back is a finding, what others use and
// drop is none, and what was not told of is said to be not checked.
#include <set>

#include "audit/audit.hpp"
#include "tests/catch.hpp"
#include "tests/cupti/live_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::uint64_t kStream = 0x5500, kGraph = 0x90, kExec = 0xa0;
constexpr Address kSegment = 0x200000, kBlock = 0x210000;
constexpr std::uint64_t kLeast = 512;

std::set<std::string> errors_of(const Report& report) {
  std::set<std::string> rules;
  for (const Finding& finding : report.findings())
    if (finding.severity == Severity::error) rules.insert(finding.rule);
  return rules;
}

/// A process with a caching allocator that has one segment of the driver's.
struct Process : LiveWorld {
  explicit Process(bool followed = true) {
    allocator = true;
    allocate(kSegment, 0x100000);
    if (followed) blocks.follow(true);
  }
};

/// The graph's one kernel is handed an address in the segment.
void capture(LiveWorld& world, Address pointer = kBlock) {
  Buffer handed = world.fake.memory[kSegment];
  handed.base = pointer;
  world.fake.graphs[kGraph] = kernel_over(handed);
  world.fake.graphs[kGraph].graph.buffers = {world.fake.memory[kSegment]};
  world.begin(kStream);
  world.launch(kStream);
  world.end(kStream, kGraph);
  world.instantiate(kGraph, kExec);
}

Report judged(LiveWorld& world) {
  return audit(Subject{{world.recording()}});
}

}  // namespace

TEST_CASE("blocks: one that a graph reads and that was given back is a stale pointer") {
  Process world;
  world.blocks.taken(kBlock, kLeast, true);
  capture(world);
  world.replay(kExec, kStream);
  world.blocks.given_back(kBlock);
  world.replay(kExec, kStream);
  const Report report = judged(world);
  CHECK(errors_of(report) == std::set<std::string>{"RF401"});
  CHECK(report.was_checked("RF401"));
}

TEST_CASE("blocks: one that then went to another tensor is a reused address") {
  Process world;
  world.blocks.taken(kBlock, kLeast, true);
  capture(world);
  world.blocks.given_back(kBlock);
  world.blocks.taken(kBlock, kLeast, true);
  world.replay(kExec, kStream);
  CHECK(errors_of(judged(world)) == std::set<std::string>{"RF402"});
}

TEST_CASE("blocks: a pointer deep inside counts once the size is told after the capture") {
  Process world;
  world.blocks.taken(kBlock, kLeast, true);
  capture(world, kBlock + 4000);
  world.blocks.taken(kBlock, 8192, false);  // the snapshot after the capture
  world.blocks.given_back(kBlock);
  world.replay(kExec, kStream);
  CHECK(errors_of(judged(world)) == std::set<std::string>{"RF401"});
}

TEST_CASE("blocks: one that was there before anyone listened counts too") {
  Process world;
  capture(world);
  world.blocks.taken(kBlock, 8192, false);
  world.blocks.given_back(kBlock);
  world.replay(kExec, kStream);
  CHECK(errors_of(judged(world)) == std::set<std::string>{"RF401"});
}

TEST_CASE("blocks: those of others come and go and no graph minds") {
  Process world;
  world.blocks.taken(kBlock, kLeast, true);
  world.blocks.taken(kBlock + 0x1000, kLeast, true);
  capture(world);
  for (int i = 0; i < 1000; ++i) {
    world.blocks.given_back(kBlock + 0x1000);
    world.blocks.taken(kBlock + 0x1000, kLeast, true);
    world.replay(kExec, kStream);
  }
  const Recording recording = world.recording();
  // The segment alone: what no graph leads into takes no place.
  CHECK(recording.timeline.buffers.size() == 1);
  const Report report = audit(Subject{{recording}});
  CHECK(report.findings().empty());
  CHECK(report.was_checked("RF401"));
  CHECK(report.was_checked("RF402"));
}

TEST_CASE("blocks: one that was given back before the capture and handed out again is the graph's own") {
  Process world;
  world.blocks.taken(kBlock, kLeast, true);
  world.blocks.given_back(kBlock);
  world.blocks.taken(kBlock, kLeast, true);
  capture(world);
  world.replay(kExec, kStream);
  CHECK(judged(world).findings().empty());
}

TEST_CASE("blocks: a free after the last launch of an exec that is gone harms nobody") {
  Process world;
  world.blocks.taken(kBlock, kLeast, true);
  capture(world);
  world.replay(kExec, kStream);
  world.blocks.given_back(kBlock);
  world.runtime("cudaGraphExecDestroy_v10000", {.object = kExec});
  world.runtime("cudaGraphDestroy_v10000", {.object = kGraph});
  CHECK(judged(world).findings().empty());
}

TEST_CASE("blocks: without the hook or with one that came after a capture the rules are not checked") {
  Process without(false);
  capture(without);
  without.replay(kExec, kStream);
  CHECK_FALSE(judged(without).was_checked("RF401"));

  Process late(false);
  capture(late);
  late.blocks.follow(true);
  late.replay(kExec, kStream);
  CHECK_FALSE(judged(late).was_checked("RF402"));

  Process stopped;
  capture(stopped);
  stopped.blocks.follow(false);
  stopped.replay(kExec, kStream);
  CHECK_FALSE(judged(stopped).was_checked("RF401"));
}

TEST_CASE("blocks: one that is told inside a capture is of a capture that the hook does not know of") {
  Process world;
  world.fake.graphs[kGraph] = kernel_over(world.fake.memory[kSegment]);
  world.begin(kStream);
  world.blocks.taken(kSegment, kLeast, true);  // of its private pool, as likely as not
  world.launch(kStream);
  world.blocks.given_back(kSegment);
  world.end(kStream, kGraph);
  world.instantiate(kGraph, kExec);
  world.replay(kExec, kStream);
  const Report report = judged(world);
  CHECK(errors_of(report).empty());
  CHECK_FALSE(report.was_checked("RF401"));
}

TEST_CASE("blocks: what they were before a window is known in it and has no birth there") {
  Process world;
  world.blocks.taken(kBlock, kLeast, true);
  (void)world.recording();  // the first window ends
  TimelineBuilder builder;
  builder.header({"live", {}});
  CallStream stream(builder, world.fake, {});
  world.blocks.listen(stream);
  CHECK(stream.allocator_followed());
  world.blocks.unlisten();
  stream.finish({});
}

TEST_CASE("blocks: in ranges that the allocator maps itself they are seen as well") {
  LiveWorld world;
  world.driver("cuMemAddressReserve", {.address = kSegment, .bytes = 0x100000});
  world.fake.allocate(kSegment, 0x100000);
  world.blocks.follow(true);
  world.blocks.taken(kBlock, kLeast, true);
  capture(world);
  world.blocks.given_back(kBlock);
  world.replay(kExec, kStream);
  const Report report = judged(world);
  CHECK(errors_of(report) == std::set<std::string>{"RF401"});
  CHECK(report.was_checked("RF401"));
}

TEST_CASE("blocks: numbers that make no sense change nothing") {
  Process world;
  world.blocks.taken(0, 512, true);
  world.blocks.taken(kBlock, 0, true);
  world.blocks.taken(~Address{0} - 100, ~std::uint64_t{0}, true);
  world.blocks.given_back(0x123);
  capture(world);
  world.replay(kExec, kStream);
  CHECK(judged(world).findings().empty());
}
