// What is drawn of a step: everything that happened in its time, once, in a bounded number of blocks.
#include "audit/review/step_lanes.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/review/review_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

std::vector<Block> of_kind(const StepLanes& lanes, BlockKind kind) {
  std::vector<Block> found;
  for (const Lane& lane : lanes.lanes)
    for (const std::vector<Block>* blocks : {&lane.replays, &lane.blocks})
      for (const Block& block : *blocks)
        if (block.kind == kind) found.push_back(block);
  return found;
}

const Lane& lane_of(const StepLanes& lanes, std::string_view title) {
  for (const Lane& lane : lanes.lanes)
    if (lane.title == title) return lane;
  FAIL("no lane " << title);
  return lanes.lanes.front();
}

std::uint64_t things(const std::vector<Block>& blocks) {
  std::uint64_t count = 0;
  for (const Block& block : blocks) count += block.count;
  return count;
}

std::size_t blocks_of(const StepLanes& lanes) {
  std::size_t count = 0;
  for (const Lane& lane : lanes.lanes) count += lane.blocks.size() + lane.replays.size();
  return count;
}

Timeline& timeline_of(Review& review) {
  return review.subject.recordings.front().timeline;
}

}  // namespace

TEST_CASE("step lanes: ranges and calls of the step's thread and its work by stream") {
  const Review review = make_review();
  const StepLanes lanes = lanes_of(review, 2);
  CHECK(lanes.start_ns == step_start(3));
  CHECK(lanes.end_ns == step_start(3) + kWorstTakes);
  CHECK(lane_of(lanes, "thread 1, ranges").blocks.size() == 1);  // not the step itself
  const auto& calls = lane_of(lanes, "thread 1, calls").blocks;
  REQUIRE(calls.size() == 5);
  CHECK(calls[0].kind == BlockKind::call);
  CHECK(calls[1].kind == BlockKind::launch);
  CHECK(calls[4].kind == BlockKind::sync);
  CHECK(calls[4].name == "cudaStreamSynchronize");
  CHECK(lane_of(lanes, "device 0, stream 7").blocks.size() == 5);
  CHECK(lane_of(lanes, "device 0, stream 8").blocks.size() == 2);
}

TEST_CASE("step lanes: a replay is one frame a stream with its nodes counted") {
  const StepLanes lanes = lanes_of(make_review(), 0);
  const auto& seven = lane_of(lanes, "device 0, stream 7").replays;
  REQUIRE(seven.size() == 1);
  CHECK(seven[0].nodes == 3);
  CHECK(seven[0].start_ns == step_start(1) + 65'000);
  CHECK(seven[0].end_ns == step_start(1) + 65'000 + 4 * 11'000 + 10'000);
  CHECK(lane_of(lanes, "device 0, stream 8").replays.at(0).nodes == 2);
}

TEST_CASE("step lanes: a replay that was recorded as a whole is a frame without nodes") {
  Review review = make_review({.steps = 1, .nodes = 1});
  for (WorkEvent& work : timeline_of(review).work)
    if (work.graph_node != 0) work.kind = WorkKind::graph;
  const auto replays = of_kind(lanes_of(review, 0), BlockKind::replay);
  REQUIRE(replays.size() == 1);
  CHECK(replays[0].nodes == 0);
}

TEST_CASE("step lanes: the picture goes on to the end of the step's device work") {
  const Review review = make_review({.steps = 1, .nodes = 100});
  const StepLanes lanes = lanes_of(review, 0);
  CHECK(lanes.end_ns == step_start(1) + 65'000 + 100 * 11'000 + 5'000);
}

TEST_CASE("step lanes: work that another step handed out is told apart") {
  // 100 nodes take 1.1 ms: the work of step 1 goes on under step 2.
  const StepLanes lanes = lanes_of(make_review({.steps = 2, .nodes = 100}), 1);
  CHECK(things(of_kind(lanes, BlockKind::elsewhere)) > 0);
  CHECK(of_kind(lanes_of(make_review(), 1), BlockKind::elsewhere).empty());
}

TEST_CASE("step lanes: calls and ranges of other threads are not of the step") {
  Review review = make_review({.steps = 1});
  timeline_of(review).calls[1].thread = 2;
  timeline_of(review).ranges[0].thread = 2;
  const StepLanes lanes = lanes_of(review, 0);
  CHECK(lane_of(lanes, "thread 1, calls").blocks.size() == 4);
  CHECK(of_kind(lanes, BlockKind::range).empty());
  // The replay was handed out by the other thread.
  CHECK(of_kind(lanes, BlockKind::elsewhere).size() == 5);
  CHECK(of_kind(lanes, BlockKind::replay).empty());
}

TEST_CASE("step lanes: ranges stand below those around them and what is nested deeper than five is counted") {
  Review review = make_review({.steps = 1});
  for (std::uint64_t i = 1; i <= 7; ++i)
    timeline_of(review).ranges.push_back(
        {1, 5, step_start(1) + 10'000 + i * 1'000, step_start(1) + 80'000, 1, 0, false});
  const StepLanes lanes = lanes_of(review, 0);
  CHECK(of_kind(lanes, BlockKind::range).size() == kMostRangeLanes);
  CHECK(lanes.ranges_left_out == 1 + 7 - kMostRangeLanes);
}

TEST_CASE("step lanes: thousands of nodes become a bounded number of blocks that stand for all of them") {
  for (const std::size_t nodes : {50U, 500U, 20'000U})
    for (const std::size_t streams : {1U, 3U, 10U}) {
      INFO(nodes << " nodes on " << streams << " streams");
      const StepLanes lanes = lanes_of(make_review({.steps = 1, .nodes = nodes, .streams = streams}), 0);
      CHECK(blocks_of(lanes) <= kMostBlocks);
      std::uint64_t work = 0;
      for (const Lane& lane : lanes.lanes)
        if (lane.title.starts_with("device")) work += things(lane.blocks);
      CHECK(work == nodes + 2);  // the copy and the kernel
      CHECK(lanes.lanes_left_out == 0);
    }
}

TEST_CASE("step lanes: a block that stands for many reaches from the first to the last and has the longest's name") {
  Review review = make_review({.steps = 1, .nodes = 20'000, .streams = 1});
  timeline_of(review).work[500].name = Interner(timeline_of(review)).id("the_long_one");
  timeline_of(review).work[500].end_ns += 900;  // within the gap to the next
  const StepLanes lanes = lanes_of(review, 0);
  const WorkEvent& longest = timeline_of(review).work[500];
  const auto kernels = of_kind(lanes, BlockKind::kernel);
  const auto block =
      std::find_if(kernels.begin(), kernels.end(), [](const Block& b) { return b.name == "the_long_one"; });
  REQUIRE(block != kernels.end());
  CHECK(block->count > 1);
  CHECK(block->start_ns <= longest.start_ns);
  CHECK(block->end_ns >= longest.end_ns);
}

TEST_CASE("step lanes: the ten busiest streams are drawn and the others counted") {
  const StepLanes lanes = lanes_of(make_review({.steps = 1, .nodes = 26, .streams = 13}), 0);
  CHECK(lanes.lanes_left_out == 3);
  CHECK(lanes.work_left_out == 3 * 2);
  // Stream 7 has the copy and the kernel beside its nodes.
  CHECK(lane_of(lanes, "device 0, stream 7").blocks.size() == 4);
}

TEST_CASE("step lanes: a step without length or device work can be drawn") {
  Review review = make_review({.steps = 1, .device = false});
  review.steps[0].end_ns = review.steps[0].start_ns;
  const StepLanes lanes = lanes_of(review, 0);
  CHECK(lanes.end_ns > lanes.start_ns);
  CHECK(things(lane_of(lanes, "thread 1, calls").blocks) == 5);
}
