#include "audit/reports/drawing.hpp"

#include <algorithm>
#include <random>

#include "tests/catch.hpp"

using namespace refrain;

namespace {

Graph with_edges(std::size_t nodes, const std::vector<std::pair<NodeId, NodeId>>& edges) {
  Graph graph;
  graph.nodes.resize(nodes);
  for (const auto& [from, to] : edges) graph.edges.push_back({from, to, EdgeKind::full});
  return graph;
}

Drawing all_of(const Graph& graph) {
  const Topology topology(graph, 0);
  return lay_out(graph, topology, topology.order());
}

/// Edges point down, nodes of a layer keep apart, everything lies within the drawing.
void check_sound(const Drawing& drawing) {
  for (const DrawnEdge& edge : drawing.edges) CHECK(drawing.nodes[edge.from].layer < drawing.nodes[edge.to].layer);
  for (std::size_t i = 1; i < drawing.nodes.size(); ++i)
    if (drawing.nodes[i].layer == drawing.nodes[i - 1].layer)
      CHECK(drawing.nodes[i].column - drawing.nodes[i - 1].column >= 1 - 1e-9);
  for (const DrawnNode& node : drawing.nodes) {
    CHECK(node.column >= 0.5 - 1e-9);
    CHECK(node.column <= drawing.columns - 0.5 + 1e-9);
    CHECK(node.layer < drawing.layers);
  }
}

}  // namespace

TEST_CASE("drawing: a diamond has three layers and its branches stand on both sides") {
  const Drawing drawing = all_of(with_edges(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  check_sound(drawing);
  CHECK(drawing.layers == 3);
  CHECK(drawing.columns == Approx(2));
  REQUIRE(drawing.nodes.size() == 4);
  CHECK(drawing.nodes[0].column == Approx(1));
  CHECK(drawing.nodes[1].column == Approx(0.5));
  CHECK(drawing.nodes[2].column == Approx(1.5));
  CHECK(drawing.nodes[3].column == Approx(1));
}

TEST_CASE("drawing: random graphs are laid out soundly") {
  std::mt19937 random(std::random_device{}());
  for (int turn = 0; turn < 20; ++turn) {
    const std::size_t nodes = 2 + random() % 60;
    std::vector<std::pair<NodeId, NodeId>> edges;
    for (std::size_t i = 0; i < 2 * nodes; ++i) {
      const auto a = static_cast<NodeId>(random() % nodes), b = static_cast<NodeId>(random() % nodes);
      if (a != b) edges.emplace_back(std::min(a, b), std::max(a, b));
    }
    check_sound(all_of(with_edges(nodes, edges)));
  }
}

TEST_CASE("drawing: of a big graph the nodes nearest to the findings are drawn and the rest is counted") {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId i = 0; i + 1 < 1000; ++i) edges.emplace_back(i, i + 1);
  const Graph graph = with_edges(1000, edges);
  const Topology topology(graph, 0);
  const std::vector<NodeId> focus = {500};
  const std::vector<NodeId> chosen = choose_nodes(topology, focus, 11);
  CHECK(chosen == std::vector<NodeId>{495, 496, 497, 498, 499, 500, 501, 502, 503, 504, 505});
  const Drawing drawing = lay_out(graph, topology, chosen);
  check_sound(drawing);
  CHECK(drawing.hidden == 989);
  CHECK(drawing.nodes.front().hidden_above == 1);
  CHECK(drawing.nodes.back().hidden_below == 1);
  CHECK(drawing.nodes[5].hidden_above + drawing.nodes[5].hidden_below == 0);
}

TEST_CASE("drawing: every node of a finding is drawn as far as the limit reaches") {
  const Graph graph = with_edges(100, {});
  const Topology topology(graph, 0);
  const std::vector<NodeId> focus = {99, 3, 50};
  CHECK(choose_nodes(topology, focus, 10) == std::vector<NodeId>{3, 50, 99});
  CHECK(choose_nodes(topology, focus, 2).size() == 2);
  CHECK(choose_nodes(topology, {}, 4) == std::vector<NodeId>{0, 1, 2, 3});
}

TEST_CASE("drawing: an empty graph is an empty drawing") {
  const Drawing drawing = all_of(Graph{});
  CHECK(drawing.nodes.empty());
  CHECK(drawing.layers == 0);
}
