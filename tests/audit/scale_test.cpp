// The audit stays near linear: a chain of 30,000 nodes with contracts, and wide
// graphs. The limits leave room for a slow machine and a sanitizer; a quadratic
// step would take minutes.
#include <chrono>

#include "audit/audit.hpp"
#include "tests/audit/build.hpp"
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
  CHECK(seconds(graph, 0) < 5.0);
}
