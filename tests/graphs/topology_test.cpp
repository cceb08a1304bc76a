#include "graphs/topology.hpp"

#include <algorithm>
#include <random>

#include "tests/catch.hpp"
#include "tests/graphs/support.hpp"

using namespace refrain;

namespace {

Graph graph_of(std::size_t nodes, std::vector<Edge> edges) {
  Graph graph;
  graph.name.assign(1, 'g');
  graph.nodes.resize(nodes);
  graph.edges = std::move(edges);
  return graph;
}

// Edges lead from a lower to a higher place of a shuffled order, so ids say nothing about order.
Graph random_dag(std::mt19937& random, std::size_t nodes, double density) {
  std::vector<NodeId> places(nodes);
  for (NodeId n = 0; n < nodes; ++n) places[n] = n;
  std::shuffle(places.begin(), places.end(), random);
  std::bernoulli_distribution joined(density);
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < nodes; ++i)
    for (std::size_t j = i + 1; j < nodes; ++j)
      if (joined(random)) edges.push_back({places[i], places[j]});
  std::shuffle(edges.begin(), edges.end(), random);
  return graph_of(nodes, edges);
}

// Warshall's closure: slow, short and not the code under test.
std::vector<std::vector<bool>> closure(const Graph& graph) {
  const std::size_t n = graph.nodes.size();
  std::vector<std::vector<bool>> reach(n, std::vector<bool>(n));
  for (const Edge& edge : graph.edges) reach[edge.from][edge.to] = true;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
  return reach;
}

std::size_t longest_path(const Graph& graph, const std::vector<NodeId>& order) {
  std::vector<std::size_t> length(graph.nodes.size(), 1);
  std::size_t best = graph.nodes.empty() ? 0 : 1;
  for (const NodeId n : order)
    for (const Edge& edge : graph.edges)
      if (edge.to == n) best = std::max(best, length[n] = std::max(length[n], length[edge.from] + 1));
  return best;
}

void check_against_closure(const Graph& graph, std::size_t table_limit, bool wants_table) {
  const Topology topology(graph, table_limit);
  REQUIRE(topology.has_reach_table() == wants_table);
  const auto reach = closure(graph);
  for (NodeId a = 0; a < graph.nodes.size(); ++a)
    for (NodeId b = 0; b < graph.nodes.size(); ++b)
      if (topology.before(a, b) != reach[a][b]) FAIL("before(" << a << ", " << b << ") is wrong");
}

}  // namespace

TEST_CASE("topology: a diamond orders its ends but not its sides") {
  const Topology topology(graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  CHECK(topology.before(0, 3));
  CHECK_FALSE(topology.before(3, 0));
  CHECK_FALSE(topology.ordered(1, 2));
  CHECK(topology.ordered(3, 1));
  CHECK_FALSE(topology.before(1, 1));
  CHECK(topology.chain_count() == 2);  // its width, by Dilworth: no cover has fewer
  CHECK(topology.predecessors(3).size() == 2);
  CHECK(topology.successors(0).size() == 2);
}

TEST_CASE("topology: nodes that are free to run stand in id order") {
  // 4 waits for nobody; 0 waits for 3.
  const Topology topology(graph_of(5, {{3, 0}, {4, 1}}));
  const std::vector<NodeId> expected{2, 3, 0, 4, 1};
  CHECK(std::vector<NodeId>(topology.order().begin(), topology.order().end()) == expected);
  for (std::uint32_t i = 0; i < expected.size(); ++i) CHECK(topology.position(expected[i]) == i);
}

TEST_CASE("topology: table and search agree with the closure of random graphs") {
  std::mt19937 random(7);
  for (const std::size_t nodes : {1U, 2U, 7U, 40U})
    for (const double density : {0.0, 0.03, 0.1, 0.4, 1.0}) {
      const Graph graph = random_dag(random, nodes, density);
      check_against_closure(graph, kReachTableEntries, true);
      check_against_closure(graph, 0, false);
    }
}

TEST_CASE("topology: the table is built up to its limit and not past it") {
  const Graph sides = graph_of(6, {});  // six nodes in six chains: 36 entries
  CHECK(Topology(sides, 36).has_reach_table());
  CHECK_FALSE(Topology(sides, 35).has_reach_table());
}

TEST_CASE("topology: the order points every edge forward and the chains cover no side by side nodes") {
  std::mt19937 random(11);
  const Graph graph = random_dag(random, 60, 0.05);
  const Topology topology(graph);
  CHECK(topology.order().size() == 60);
  for (const Edge& edge : graph.edges) CHECK(topology.position(edge.from) < topology.position(edge.to));
  // Any set of pairwise unordered nodes needs a chain each.
  std::vector<NodeId> apart;
  for (NodeId n = 0; n < 60; ++n)
    if (std::none_of(apart.begin(), apart.end(), [&](NodeId m) { return topology.ordered(n, m); })) apart.push_back(n);
  CHECK(topology.chain_count() >= apart.size());
}

TEST_CASE("topology: the critical path is a path, and the longest one") {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    const Graph graph = random_dag(random, 30, 0.1);
    const Topology topology(graph);
    const std::vector<NodeId> path = topology.critical_path();
    CHECK(path.size() == longest_path(graph, {topology.order().begin(), topology.order().end()}));
    for (std::size_t i = 1; i < path.size(); ++i) {
      const auto next = topology.successors(path[i - 1]);
      CHECK(std::find(next.begin(), next.end(), path[i]) != next.end());
    }
  }
}

TEST_CASE("topology: an empty graph has no order, no chain and no critical path") {
  const Topology topology{Graph{}};
  CHECK(topology.order().empty());
  CHECK(topology.chain_count() == 0);
  CHECK(topology.critical_path().empty());
}

TEST_CASE("topology: a cycle is an error that names a node of the cycle, not one behind it") {
  // 0 -> 1 is no part of the circle 2 -> 3 -> 4 -> 2, and 5 only waits for it.
  Graph graph = graph_of(6, {{0, 1}, {2, 3}, {3, 4}, {4, 2}, {4, 5}});
  graph.nodes[2].name = "plan";
  const std::string message = input_error([&] { (void)Topology(graph); });
  CHECK(message == "g: edges: expected no cycle, found one of 3 nodes through node 2 (plan); drop one of its edges");
}

TEST_CASE("topology: an edge from a node to itself is a cycle") {
  const std::string message = input_error([] { (void)Topology(graph_of(2, {{1, 1}})); });
  CHECK(message == "g: edges: expected no cycle, found one of 1 node through node 1 (kernel); drop one of its edges");
}

TEST_CASE("topology: an edge to no node is an error that names the edge and the node") {
  const std::string message = input_error([] { (void)Topology(graph_of(2, {{0, 1}, {1, 9}})); });
  CHECK(message == "g: edges[1]: expected node ids below 2, found 1 -> 9; add node 9 or drop the edge");
}

TEST_CASE("topology: a chain of 300,000 nodes is one chain, in order and on its own critical path") {
  constexpr NodeId kNodes = 300'000;
  std::vector<Edge> edges;
  for (NodeId n = 1; n < kNodes; ++n) edges.push_back({n - 1, n});
  const Topology topology(graph_of(kNodes, edges));
  CHECK(topology.chain_count() == 1);
  CHECK(topology.before(0, kNodes - 1));
  CHECK_FALSE(topology.before(kNodes - 1, 0));
  CHECK(topology.critical_path().size() == kNodes);
}

TEST_CASE("topology: 300,000 nodes on 1,000 streams are searched on demand") {
  constexpr NodeId kNodes = 300'000;
  constexpr NodeId kStreams = 1'000;
  std::vector<Edge> edges;
  for (NodeId n = kStreams; n < kNodes; ++n) edges.push_back({n - kStreams, n});
  const Topology topology(graph_of(kNodes, edges));
  CHECK(topology.chain_count() == kStreams);
  CHECK_FALSE(topology.has_reach_table());  // 300 million entries
  CHECK(topology.before(5, kNodes - kStreams + 5));
  CHECK_FALSE(topology.before(5, kNodes - kStreams + 6));
}
