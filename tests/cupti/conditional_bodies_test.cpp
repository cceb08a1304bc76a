// The bodies of conditional nodes, and of conditional nodes in them: read with their
// graph, and gone with it.
#include <set>

#include "audit/audit.hpp"
#include "tests/catch.hpp"
#include "tests/cupti/live_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::uint64_t kStream = 0x5500;

std::set<std::string> errors_of(const Recording& recording) {
  const Subject subject{{recording}};
  const Report report = audit(subject);
  std::set<std::string> rules;
  for (const Finding& finding : report.findings())
    if (finding.severity == Severity::error) rules.insert(finding.rule);
  return rules;
}

/// A conditional node under that handle, and nothing else.
WalkedGraph one_conditional(std::uint64_t node) {
  WalkedGraph walked;
  walked.graph.nodes.resize(1);
  walked.graph.nodes[0].kind = NodeKind::conditional;
  walked.graph.capture.unseen = {Unseen::bodies};
  walked.handles = {node};
  return walked;
}

/// Graph 0x90 with a conditional node, whose body 0x91 has one, whose body 0x92 is a kernel over the buffer at 0x1000.
void make_nested(LiveWorld& world, bool inner_was_seen) {
  world.fake.graphs[0x90] = one_conditional(0xc0);
  world.fake.graphs[0x91] = one_conditional(0xc1);
  world.fake.graphs[0x92] = kernel_over(world.fake.memory[0x1000]);
  world.edit(LiveKind::conditional, {.object = 0x90, .made = 0xc0, .bodies = {0x91}});
  if (inner_was_seen) world.edit(LiveKind::conditional, {.object = 0x91, .made = 0xc1, .bodies = {0x92}});
}

}  // namespace

TEST_CASE("conditional bodies: a conditional node in the body of one is read and so is what its own body leads into") {
  LiveWorld world;
  world.allocate(0x1000, 64);
  make_nested(world, true);
  world.instantiate(0x90, 0xa0);
  world.replay(0xa0, kStream);
  world.free(0x1000);
  world.replay(0xa0, kStream);
  const Recording recording = world.recording();
  REQUIRE(recording.graphs.size() == 1);
  const Graph& outer = recording.graphs[0].nodes[0].bodies.at(0);
  const Graph& inner = outer.nodes[0].bodies.at(0);
  CHECK(inner.nodes.at(0).name == "step(float*)");
  CHECK_FALSE(recording.graphs[0].capture.cannot_see(Unseen::bodies));
  CHECK_FALSE(outer.capture.cannot_see(Unseen::bodies));
  CHECK(errors_of(recording) == std::set<std::string>{"RF401"});
}

TEST_CASE(
    "conditional bodies: a nested body whose node was made before anyone listened is said to be unseen at every "
    "level") {
  LiveWorld world;
  world.allocate(0x1000, 64);
  make_nested(world, false);
  world.instantiate(0x90, 0xa0);
  const Recording recording = world.recording();
  const Graph& graph = recording.graphs.at(0);
  CHECK(graph.nodes[0].bodies.at(0).nodes.at(0).bodies.empty());
  CHECK(graph.nodes[0].bodies[0].capture.cannot_see(Unseen::bodies));
  CHECK(graph.capture.cannot_see(Unseen::bodies));
}

TEST_CASE(
    "conditional bodies: bodies go with their graph and are not taken for those of a node that has the handle later") {
  LiveWorld world;
  world.allocate(0x1000, 64);
  make_nested(world, true);
  world.instantiate(0x90, 0xa0);
  world.runtime("cudaGraphDestroy_v10000", {.object = 0x90});
  world.fake.graphs.erase(0x91);  // to walk a body that is gone would be refused here, and a crash in CUDA
  world.fake.graphs.erase(0x92);
  world.fake.graphs[0x93] = one_conditional(0xc0);
  world.fake.graphs[0x94] = one_conditional(0xc1);
  world.instantiate(0x93, 0xa1);
  world.instantiate(0x94, 0xa2);
  const Recording recording = world.recording();
  REQUIRE(recording.graphs.size() == 3);
  for (const std::size_t later : {1, 2}) {
    CHECK(recording.graphs[later].nodes[0].bodies.empty());
    CHECK(recording.graphs[later].capture.cannot_see(Unseen::bodies));
  }
}

TEST_CASE("conditional bodies: bodies that lead back to themselves end at the depth that a recording holds") {
  LiveWorld world;
  world.fake.graphs[0x90] = one_conditional(0xc0);
  world.edit(LiveKind::conditional, {.object = 0x90, .made = 0xc0, .bodies = {0x90}});
  world.instantiate(0x90, 0xa0);
  CHECK(world.recording().graphs.at(0).capture.cannot_see(Unseen::bodies));
}
