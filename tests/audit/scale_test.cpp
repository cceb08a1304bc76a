// The audit stays near linear: a chain of 30,000 nodes with contracts, and wide
// graphs. The limits leave room for a slow machine and a sanitizer; a quadratic
// step would take minutes.
#include <chrono>
#include <string>

#include "audit/audit.hpp"
#include "tests/audit/build.hpp"
#include "tests/audit/calls.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

double seconds(const Graph& graph, std::size_t findings) {
  const Subject subject{{{"chain", {graph}, {}, false}}};
  const auto start = std::chrono::steady_clock::now();
  const Report report = audit(subject);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(report.findings().size() == findings);
  return taken.count();
}

// Two buffers in turn: each node reads one, must find it zeroed or finite, and leaves the other so.
Graph ping_pong(NodeId count) {
  std::vector<Node> nodes;
  std::vector<std::pair<NodeId, NodeId>> edges;
  nodes.push_back(zeroes(0));
  for (NodeId i = 1; i < count; ++i) {
    const BufferId from = (i + 1) % 2, to = i % 2;
    nodes.push_back(op("layer", {touch(from, Mode::read), touch(to, Mode::write)}, {{Fact::finite, from, kAll}},
                       {{Fact::finite, to, kAll}}));
    edges.push_back({i - 1, i});
  }
  return graph_of(std::move(nodes), edges, 2);
}

}  // namespace

TEST_CASE("scale: a chain of 30,000 nodes that ping-pongs two buffers is audited in seconds") {
  CHECK(seconds(ping_pong(30000), 0) < 2.0);
}

TEST_CASE("scale: 30,000 failed needs of one cause are one finding, in seconds") {
  Graph graph = ping_pong(30000);
  for (Node& node : graph.nodes) node.gives.clear();
  // Each buffer's consumers lack the same fact: two causes.
  CHECK(seconds(graph, 2) < 5.0);
}

TEST_CASE("scale: 10,000 parallel readers of one buffer cost no square of them") {
  std::vector<Node> nodes = {op("write", {touch(0, Mode::write)})};
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId i = 1; i <= 10000; ++i) {
    nodes.push_back(op("read", {touch(1, Mode::read)}));
    edges.push_back({0, i});
  }
  Graph graph = graph_of(std::move(nodes), edges, 2);
  graph.entry = {{Fact::written, 1, kAll, Origin::initialised_once, ""}};
  // They are more than a device holds at once: rule 604.
  CHECK(seconds(graph, 1) < 5.0);
}

TEST_CASE("scale: 100,000 launches of 200 graph execs in 10,000 steps are audited in seconds") {
  Calls calls;
  for (std::uint64_t exec = 0; exec < 200; ++exec) {
    calls.graph(1000 + exec, graph_of({op("layer"), op("layer"), op("layer"), op("layer"), op("layer")}, {}));
    calls.recording.graphs.back().name += std::to_string(exec);
    calls.call(Api::graph_instantiate, 0, 1000 + exec, 5000 + exec);
  }
  for (std::uint64_t step = 0; step < 10000; ++step) {
    RangeEvent range;
    range.thread = 1;
    range.step = true;
    range.first = calls.now() + 1;
    // Streams take turns, and each exec stays on its own.
    for (std::uint64_t i = 0; i < 10; ++i)
      calls.call(Api::graph_launch, static_cast<std::uint32_t>(3 + i), 5000 + (step * 10 + i) % 200);
    calls.call(Api::event_record, 3, 7);
    calls.call(Api::stream_wait_event, 4, 7);
    range.last = calls.now();
    calls.recording.timeline.ranges.push_back(range);
  }
  const Subject subject{{calls.recording}};
  const auto start = std::chrono::steady_clock::now();
  const Report report = audit(subject);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(report.findings().empty());
  CHECK(taken.count() < 5.0);
}
