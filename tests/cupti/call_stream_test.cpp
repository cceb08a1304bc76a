// What callbacks become: calls counted once, captures followed, launches told as
// captured, escaped or eager, and the rules that follow from it.
#include <algorithm>
#include <set>

#include "audit/audit.hpp"
#include "audit/captures.hpp"
#include "audit/graph_lives.hpp"
#include "tests/catch.hpp"
#include "tests/cupti/live_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::uint64_t kStream = 0x5500, kOther = 0x5600;

std::set<std::string> errors_of(Recording recording) {
  const Subject subject{{std::move(recording)}};
  const Report report = audit(subject);
  std::set<std::string> rules;
  for (const Finding& finding : report.findings())
    if (finding.severity == Severity::error) rules.insert(finding.rule);
  return rules;
}

/// Captures one launch into graph 0x90, instantiates it as 0xa0 and replays it.
void capture_and_replay(LiveWorld& world) {
  world.begin(kStream);
  world.launch(kStream);
  world.end(kStream, 0x90);
  world.instantiate(0x90, 0xa0);
  world.replay(0xa0, kStream);
}

}  // namespace

TEST_CASE("call stream: a driver call inside a runtime call is that call and counts once") {
  LiveWorld world;
  world.launch(kStream);
  world.driver("cuLaunchKernel", {.stream = kStream, .function = 0x20});
  const Recording recording = world.recording();
  // One of the runtime, whose inner call is part of it, and one that the program made of the driver itself.
  REQUIRE(recording.timeline.calls.size() == 2);
  CHECK(recording.timeline.text(recording.timeline.calls[0].detail) == "step(float*)");
  // From the runtime call's beginning to its end, not the inner one's moment.
  CHECK(recording.timeline.calls[0].start_ns == 10);
  CHECK(recording.timeline.calls[0].end_ns == 30);
}

TEST_CASE("call stream: a captured graph is tied to its capture and exec and launches") {
  LiveWorld world;
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  capture_and_replay(world);
  world.replay(0xa0, kStream);
  const Recording recording = world.recording();
  const std::vector<GraphLife> lives = lives_of(recording);
  REQUIRE(lives.size() == 1);
  CHECK(lives[0].tied);
  CHECK(lives[0].capture == 1);
  REQUIRE(lives[0].execs.size() == 1);
  CHECK(lives[0].execs[0].launches.size() == 2);
  CHECK(errors_of(recording).empty());
}

TEST_CASE("call stream: work on another stream during a capture escaped and is rule 501") {
  LiveWorld world;
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  world.begin(kStream);
  world.launch(kStream);
  world.launch(kOther, 0x20);
  world.end(kStream, 0x90);
  const Recording recording = world.recording();
  CHECK(recording.timeline.calls[1].target == Target::capturing);
  CHECK(recording.timeline.calls[2].target == Target::other);
  CHECK(errors_of(recording) == std::set<std::string>{"RF501"});
}

TEST_CASE("call stream: a stream that waits for a captured event is in the capture") {
  LiveWorld world;
  world.begin(kStream);
  world.runtime("cudaEventRecord_v3020", {.stream = kStream, .object = 0xe0});
  world.runtime("cudaStreamWaitEvent_v3020", {.stream = kOther, .object = 0xe0});
  world.launch(kOther);
  world.runtime("cudaEventRecord_v3020", {.stream = kOther, .object = 0xe1});
  world.runtime("cudaStreamWaitEvent_v3020", {.stream = kStream, .object = 0xe1});
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  world.end(kStream, 0x90);
  CHECK(errors_of(world.recording()).empty());
}

TEST_CASE("call stream: a fork ends with its capture and is another stream in the next one") {
  LiveWorld world;
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  world.begin(kStream);
  world.runtime("cudaEventRecord_v3020", {.stream = kStream, .object = 0xe0});
  world.runtime("cudaStreamWaitEvent_v3020", {.stream = kOther, .object = 0xe0});
  world.launch(kOther);
  world.end(kStream, 0x90);
  world.launch(kOther);
  world.begin(kStream);
  world.launch(kOther);
  const Recording recording = world.recording();
  const auto& calls = recording.timeline.calls;
  CHECK(calls[3].target == Target::forked);
  CHECK(calls[5].capture == 0);
  CHECK(calls[7].capture == 2);
  CHECK(calls[7].target == Target::other);
}

TEST_CASE("call stream: the first call that kills a capture is its violation and what follows is not") {
  LiveWorld world;
  world.begin(kStream);
  world.launch(kStream);
  world.runtime("cudaDeviceSynchronize_v3020", {.code = 900});
  world.launch(kStream, 0x10, 901);
  world.end(kStream, 0, 901);
  const Recording recording = world.recording();
  const auto captures = captures_of(recording.timeline);
  REQUIRE(captures.size() == 1);
  REQUIRE(captures[0].violation != nullptr);
  CHECK(captures[0].violation->api == Api::device_synchronize);
  CHECK(errors_of(recording) == std::set<std::string>{"RF101"});
}

TEST_CASE("call stream: a second thread that kills the capture is rule 503") {
  LiveWorld world;
  world.begin(kStream);
  world.launch(kStream);
  world.thread = 8;
  world.runtime("cudaMalloc_v3020", {.bytes = 64, .code = 900});
  world.thread = 7;
  world.end(kStream, 0, 901);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF503"});
}

TEST_CASE("call stream: a blocking copy during a capture is rule 502 with its direction") {
  LiveWorld world;
  world.fake.allocate(0x1000, 4096);
  world.fake.graphs[0x90] = kernel_over(world.fake.memory[0x1000]);
  world.begin(kStream);
  world.launch(kStream);
  world.runtime("cudaMemcpy_v3020", {.address = 0x1000, .source = 0x99, .bytes = 64}, "cuMemcpyHtoD_v2");
  world.end(kStream, 0x90);
  const Recording recording = world.recording();
  CHECK(recording.timeline.calls[2].api == Api::memcpy_h2d);
  CHECK(recording.timeline.calls[2].source_space == MemorySpace::pageable);
  CHECK(errors_of(recording) == std::set<std::string>{"RF502"});
}

TEST_CASE("call stream: an exec that was made before anyone listened is rule 801 and no guess") {
  LiveWorld world;
  world.replay(0xa0, kStream);
  CHECK(errors_of(world.recording()) == std::set<std::string>{"RF801"});
}

TEST_CASE("call stream: a handle that the driver hands out again means the new graph") {
  LiveWorld world;
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  capture_and_replay(world);
  world.runtime("cudaGraphDestroy_v10000", {.object = 0x90});
  world.runtime("cudaGraphExecDestroy_v10000", {.object = 0xa0});
  capture_and_replay(world);
  const std::vector<GraphLife> lives = lives_of(world.recording());
  REQUIRE(lives.size() == 2);
  for (const GraphLife& life : lives) {
    REQUIRE(life.execs.size() == 1);
    CHECK(life.execs[0].launches.size() == 1);
  }
}

TEST_CASE("call stream: a graph built by calls is read when it is instantiated and again after an edit") {
  LiveWorld world;
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  world.edit(LiveKind::graph_edit);
  world.instantiate(0x90, 0xa0);
  world.instantiate(0x90, 0xa1);
  world.edit(LiveKind::graph_edit);  // of another graph
  world.instantiate(0x90, 0xa1);
  world.fake.graphs[0x90].graph.nodes[0].grid.x = 2;
  world.edit(LiveKind::graph_edit);
  world.instantiate(0x90, 0xa2);
  world.replay(0xa2, kStream);
  const Recording recording = world.recording();
  // Two descriptions: an edit that left the graph as it was made none.
  REQUIRE(recording.graphs.size() == 2);
  const std::vector<GraphLife> lives = lives_of(recording);
  CHECK(lives[0].execs.size() == 3);
  REQUIRE(lives[1].execs.size() == 1);
  CHECK(lives[1].execs[0].launches.size() == 1);
}

TEST_CASE("call stream: an exec whose nodes are changed one by one no longer runs the graph it was made of") {
  LiveWorld world;
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  capture_and_replay(world);
  world.edit(LiveKind::exec_edit, {.object = 0xa0});
  const std::vector<GraphLife> lives = lives_of(world.recording());
  REQUIRE(lives.size() == 1);
  CHECK(lives[0].updated);
}

TEST_CASE("call stream: the body of a conditional node is read with its graph") {
  LiveWorld world;
  WalkedGraph walked = kernel_over(world.fake.allocate(0x1000, 64));
  walked.graph.nodes[0].kind = NodeKind::conditional;
  walked.graph.capture.unseen = {Unseen::bodies};
  world.fake.graphs[0x90] = walked;
  world.fake.graphs[0x91] = kernel_over(world.fake.memory[0x1000]);
  world.edit(LiveKind::conditional, {.made = 0xabc, .bodies = {0x91}});
  world.instantiate(0x90, 0xa0);
  const Recording recording = world.recording();
  REQUIRE(recording.graphs.size() == 1);
  REQUIRE(recording.graphs[0].nodes[0].bodies.size() == 1);
  CHECK(recording.graphs[0].nodes[0].bodies[0].nodes[0].name == "step(float*)");
  CHECK_FALSE(recording.graphs[0].capture.cannot_see(Unseen::bodies));
}

TEST_CASE("call stream: a kernel that is new to the process inside a capture is a first use") {
  LiveWorld world({}, true);
  world.fake.graphs[0x90] = kernel_over(world.fake.allocate(0x1000, 64));
  world.launch(kStream, 0x10);
  world.begin(kStream);
  world.launch(kStream, 0x10);
  world.launch(kStream, 0x20);
  world.end(kStream, 0x90);
  const Recording recording = world.recording();
  CHECK(recording.timeline.calls[2].api == Api::launch_kernel);
  CHECK(recording.timeline.calls[3].api == Api::launch_kernel_first_use);
}

TEST_CASE("call stream: an exchange tells the mode that was asked for and not the one that came back") {
  LiveWorld world;
  // Global is asked for; on the exit side the old mode stands in its place, as CUDA writes it.
  world.runtime("cudaThreadExchangeStreamCaptureMode_v10010", {.mode = CaptureMode::relaxed});
  const Recording recording = world.recording();
  CHECK(recording.timeline.calls[0].mode == CaptureMode::relaxed);
}

TEST_CASE("call stream: per-thread default streams of two threads are two streams") {
  LiveWorld world;
  world.runtime("cudaLaunchKernel_ptsz_v7000", {.stream = 0, .per_thread = true});
  world.thread = 8;
  world.runtime("cudaLaunchKernel_v7000", {.stream = 2});
  world.runtime("cudaLaunchKernel_v7000", {.stream = 1});
  const Recording recording = world.recording();
  const auto& calls = recording.timeline.calls;
  CHECK(calls[0].stream != calls[1].stream);
  CHECK(calls[0].stream != 0);
  CHECK(calls[1].stream != 0);
  CHECK(calls[2].stream == 0);  // cudaStreamLegacy
}

TEST_CASE("call stream: a call that began before anyone listened is left out") {
  FakeDriver fake;
  TimelineBuilder builder;
  builder.header({"live", {}});
  CallStream stream(builder, fake, {});
  LiveCall call;
  call.name = find_api("cudaMalloc_v3020").value();
  call.thread = 7;
  stream.exit(call);
  stream.finish({});
  CHECK(builder.take().timeline.calls.empty());
}

TEST_CASE("call stream: a range that numbers a step marks it and a lost record is rule 802") {
  FakeDriver fake;
  TimelineBuilder builder;
  builder.header({"live", {}});
  CallStream stream(builder, fake, {});
  stream.push_range(7, 10, "decode_step 3");
  CHECK(stream.pop_range(7, 20) == "decode_step 3");
  CHECK(stream.pop_range(7, 30).empty());
  stream.finish({{std::string(kRecordsLost), "the auditor failed once", 1}});
  const Recording recording = builder.take();
  REQUIRE(recording.timeline.ranges.size() == 1);
  CHECK(recording.timeline.ranges[0].step);
  CHECK(errors_of(recording).contains("RF802"));
}
