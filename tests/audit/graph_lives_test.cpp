#include "audit/graph_lives.hpp"

#include "tests/audit/build.hpp"
#include "tests/audit/calls.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::uint64_t kGraph = 11, kExec = 21;

/// A capture of stream 3 that ends in the graph, which is then tied and instantiated.
void capture(Calls& calls, std::uint64_t graph = kGraph, std::uint64_t exec = kExec) {
  calls.call(Api::begin_capture, 3).capture = 1;
  calls.call(Api::end_capture, 3, 0, graph).capture = 1;
  calls.graph(graph);
  calls.call(Api::graph_instantiate, 0, graph, exec);
}

}  // namespace

TEST_CASE("graph lives: an exec is followed from its graph's capture to its end") {
  Calls calls;
  capture(calls);
  calls.call(Api::graph_launch, 3, kExec);
  calls.call(Api::graph_launch, 3, kExec).code = 901;  // refused: not a launch
  calls.call(Api::graph_exec_destroy, 0, kExec);
  const auto lives = lives_of(calls.recording);
  REQUIRE(lives.size() == 1);
  CHECK(lives[0].tied);
  CHECK(lives[0].capture == 1);
  CHECK(lives[0].begun == 1);
  CHECK(lives[0].captured == 2);
  REQUIRE(lives[0].execs.size() == 1);
  CHECK(lives[0].execs[0].launches.size() == 1);
  CHECK(lives[0].execs[0].gone == 7);
}

TEST_CASE("graph lives: a handle that is handed out again means the new graph from then on") {
  Calls calls;
  capture(calls);
  calls.call(Api::graph_launch, 3, kExec);
  calls.call(Api::graph_exec_destroy, 0, kExec);
  capture(calls);
  calls.call(Api::graph_launch, 3, kExec);
  calls.call(Api::graph_launch, 3, kExec);
  const auto lives = lives_of(calls.recording);
  REQUIRE(lives.size() == 2);
  REQUIRE(lives[0].execs.size() == 1);
  REQUIRE(lives[1].execs.size() == 1);
  CHECK(lives[0].execs[0].launches.size() == 1);
  CHECK(lives[1].execs[0].launches.size() == 2);
}

TEST_CASE("graph lives: a description that is tied after the instantiation counts all the same") {
  Calls calls;
  calls.call(Api::begin_capture, 3).capture = 1;
  calls.call(Api::end_capture, 3, 0, kGraph).capture = 1;
  calls.call(Api::graph_instantiate, 0, kGraph, kExec);
  calls.graph(kGraph);
  calls.call(Api::graph_launch, 3, kExec);
  const auto lives = lives_of(calls.recording);
  REQUIRE(lives[0].execs.size() == 1);
  CHECK(lives[0].execs[0].launches.size() == 1);
}

TEST_CASE("graph lives: an update ends what is known of an exec") {
  Calls calls;
  capture(calls);
  calls.call(Api::graph_exec_update, 0, kExec);
  calls.call(Api::graph_launch, 3, kExec);
  const auto lives = lives_of(calls.recording);
  CHECK(lives[0].updated);
  CHECK(lives[0].execs[0].launches.empty());
  CHECK(lives[0].execs[0].gone.has_value());
}

TEST_CASE("graph lives: an exec that is updated runs the other graph from then on") {
  Calls calls;
  capture(calls);
  constexpr std::uint64_t kOther = 12;
  calls.call(Api::begin_capture, 3).capture = 2;
  calls.call(Api::end_capture, 3, 0, kOther).capture = 2;
  calls.graph(kOther);
  calls.call(Api::graph_launch, 3, kExec);
  calls.call(Api::graph_exec_update, 0, kExec, kOther);
  calls.call(Api::graph_launch, 3, kExec);
  calls.call(Api::graph_launch, 3, kExec);
  const auto lives = lives_of(calls.recording);
  REQUIRE(lives.size() == 2);
  CHECK_FALSE(lives[0].updated);
  CHECK(lives[0].execs[0].launches.size() == 1);
  CHECK(lives[0].execs[0].gone.has_value());
  REQUIRE(lives[1].execs.size() == 1);
  CHECK(lives[1].execs[0].launches.size() == 2);
  CHECK_FALSE(lives[1].execs[0].gone.has_value());
}

TEST_CASE("graph lives: what can still run after a moment") {
  Calls calls;
  capture(calls);
  const std::uint64_t before = calls.now();
  calls.call(Api::graph_launch, 3, kExec);
  const std::uint64_t between = calls.now();
  SECTION("a launch after it matters, one before it does not") {
    CHECK(run_after(lives_of(calls.recording)[0], before).launches == 1);
    CHECK(run_after(lives_of(calls.recording)[0], between).launches == 0);
  }
  SECTION("an exec that lives at the end is exposed") {
    CHECK(run_after(lives_of(calls.recording)[0], between).exposed);
  }
  SECTION("an exec that went without a launch is not") {
    calls.call(Api::graph_exec_destroy, 0, kExec);
    CHECK_FALSE(run_after(lives_of(calls.recording)[0], between).matters());
  }
  SECTION("one of two execs is enough") {
    calls.call(Api::graph_instantiate, 0, kGraph, 22);
    calls.call(Api::graph_exec_destroy, 0, kExec);
    CHECK(run_after(lives_of(calls.recording)[0], between).exposed);
  }
}

TEST_CASE("graph lives: a graph without an exec can still get one until it is destroyed") {
  Calls calls;
  calls.call(Api::end_capture, 3, 0, kGraph);
  calls.graph(kGraph);
  CHECK(run_after(lives_of(calls.recording)[0], 2).exposed);
  calls.call(Api::graph_destroy, 0, kGraph);
  CHECK_FALSE(run_after(lives_of(calls.recording)[0], 2).matters());
}

TEST_CASE("graph lives: a body shares the life of its graph, and an untied graph has none") {
  Calls calls;
  Graph outer;
  outer.nodes.push_back(op("child"));
  outer.nodes[0].kind = NodeKind::child;
  outer.nodes[0].bodies.emplace_back();
  calls.call(Api::end_capture, 3, 0, kGraph);
  calls.graph(kGraph, outer);
  calls.recording.graphs.emplace_back();
  const Subject subject{{calls.recording}};
  const SubjectView view(subject);
  const GraphLives lives(view);
  REQUIRE(view.graphs().size() == 3);
  REQUIRE(lives.of(0) != nullptr);
  CHECK(lives.of(1) == lives.of(0));
  CHECK(lives.of(2) == nullptr);
}

TEST_CASE("graph lives: what is captured did not run, and a blocking copy in a capture did") {
  ApiEvent call;
  CHECK(ran_at_once(call));
  call.capture = 1;
  call.target = Target::capturing;
  CHECK_FALSE(ran_at_once(call));
  call.target = Target::other;
  CHECK(ran_at_once(call));
  call.code = 900;
  CHECK_FALSE(ran_at_once(call));
  ApiEvent copy;
  copy.api = Api::memcpy_h2d;
  copy.capture = 1;
  CHECK(ran_at_once(copy));
}
