#include "graphs/diff.hpp"

#include "tests/catch.hpp"

using namespace refrain;

namespace {

/// A chain of ops, every one reading 64 bytes of one buffer.
Graph chain(std::initializer_list<const char*> ops) {
  Graph graph;
  graph.buffers.resize(1);
  graph.buffers[0].name = std::string(1, 'b');
  graph.buffers[0].base = 0x1000 * (ops.size() + 1);  // addresses must not matter
  graph.buffers[0].bytes = 64;
  for (const char* op : ops) {
    Node node;
    node.name = node.op = op;
    node.has_contract = true;
    node.accesses.push_back({0, {0, 64}, Mode::read, Reach::exact, Role::input, Dtype::u8, Certainty::contract});
    graph.nodes.push_back(node);
    const auto id = static_cast<NodeId>(graph.nodes.size() - 1);
    if (id > 0) graph.edges.push_back({id - 1, id, EdgeKind::full});
  }
  return graph;
}

}  // namespace

TEST_CASE("diff: equal graphs at other addresses do not differ") {
  CHECK(diff_graphs(chain({"a", "b", "c"}), chain({"a", "b", "c"})).empty());
}

TEST_CASE("diff: a node put in the middle is one added node and the edge that it replaces") {
  const GraphDiff diff = diff_graphs(chain({"a", "b", "c"}), chain({"a", "x", "b", "c"}));
  CHECK(diff.added == std::vector<NodeId>{1});
  CHECK(diff.removed.empty());
  CHECK(diff.changed.empty());
  REQUIRE(diff.edges_removed.size() == 1);
  CHECK(diff.edges_removed[0].from == 0);
  CHECK(diff.edges_removed[0].to == 1);
  CHECK(diff.edges_added.empty());
}

TEST_CASE("diff: it is its own mirror") {
  const Graph a = chain({"a", "b", "c", "d", "e"}), b = chain({"b", "x", "d", "y", "e", "a"});
  const GraphDiff there = diff_graphs(a, b), back = diff_graphs(b, a);
  CHECK(there.added.size() == back.removed.size());
  CHECK(there.removed.size() == back.added.size());
  // b, d, e is the longest common part.
  CHECK(there.removed.size() == 2);
  CHECK(there.added.size() == 3);
}

TEST_CASE("diff: launch dims and contracts that changed are named") {
  const Graph a = chain({"a", "b"});
  Graph b = chain({"a", "b"});
  b.nodes[1].grid.x = 4;
  b.nodes[1].accesses[0].range.end = 32;
  const GraphDiff diff = diff_graphs(a, b);
  REQUIRE(diff.changed.size() == 1);
  CHECK(diff.changed[0].what.find("grid 1x1x1 -> 4x1x1") != std::string::npos);
  CHECK(diff.changed[0].what.find("now exact read of b [0, 32)") != std::string::npos);
  CHECK(diff.changed[0].what.find("no more exact read of b [0, 64)") != std::string::npos);
}

TEST_CASE("diff: an edge that became programmatic and a body that changed are differences") {
  const Graph a = chain({"a", "b"});
  Graph b = a;
  b.edges[0].kind = EdgeKind::programmatic;
  CHECK(diff_graphs(a, b).edges_added.size() == 1);
  Graph outer = chain({"a"}), other = chain({"a"});
  outer.nodes[0].kind = other.nodes[0].kind = NodeKind::child;
  outer.nodes[0].bodies = {chain({"x"})};
  other.nodes[0].bodies = {chain({"x", "y"})};
  CHECK(diff_graphs(outer, other).bodies.size() == 1);
}

TEST_CASE("diff: graphs with nothing in common and empty graphs") {
  const GraphDiff diff = diff_graphs(chain({"a", "b"}), chain({"x"}));
  CHECK(diff.removed.size() == 2);
  CHECK(diff.added.size() == 1);
  CHECK(diff_graphs(Graph{}, Graph{}).empty());
  CHECK(diff_graphs(Graph{}, chain({"a"})).added.size() == 1);
}

TEST_CASE("diff: parameters that lie or measure otherwise are named and their bytes are not") {
  Graph a = chain({"a"});
  a.nodes[0].params = {{0, 8, {1, 2, 3, 4, 5, 6, 7, 8}}, {8, 4, {1, 0, 0, 0}}};
  Graph b = a;
  b.nodes[0].params[0].bytes[0] = 99;
  CHECK(diff_graphs(a, b).empty());
  b.nodes[0].params[1] = {8, 8, {1, 0, 0, 0, 0, 0, 0, 0}};
  const GraphDiff wider = diff_graphs(a, b);
  REQUIRE(wider.changed.size() == 1);
  CHECK(wider.changed[0].what == "parameter 1: 4 bytes at 8 -> 8 bytes at 8");
  b.nodes[0].params.pop_back();
  CHECK(diff_graphs(a, b).changed.at(0).what == "2 -> 1 parameters");
}

TEST_CASE("diff: a copy that became pageable is a change") {
  Graph a = chain({"a"});
  a.nodes[0].kind = NodeKind::memcpy;
  a.nodes[0].copy = CopyInfo{0x1000, 0x2000, 64, MemorySpace::pinned, MemorySpace::device};
  Graph b = a;
  b.nodes[0].copy->src_space = MemorySpace::pageable;
  CHECK(diff_graphs(a, b).changed.at(0).what == "copies pinned to device -> pageable to device");
}

TEST_CASE("diff: the census counts nodes by what they are and bodies too") {
  Graph outer = chain({"a", "a", "fill"});
  outer.nodes[2].kind = NodeKind::memset;
  Graph other = outer;
  other.nodes[0].kind = NodeKind::child;
  other.nodes[0].bodies = {chain({"x", "a"})};
  std::string text;
  for (const CensusRow& row : census(outer, other))
    text += row.what + ' ' + std::to_string(row.a) + ' ' + std::to_string(row.b) + '\n';
  CHECK(text == "child 0 1\nkernel a 2 2\nkernel x 0 1\nmemset 1 1\n");
}
