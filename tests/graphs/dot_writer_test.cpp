// What write_dot writes, read_dot reads: the round trip is over everything that the format can say.
#include <fstream>
#include <sstream>

#include "graphs/diff.hpp"
#include "graphs/readers.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

Graph sample(const std::string& name) {
  std::ifstream in(std::string(REFRAIN_SOURCE_DIR) + "/traces/samples/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return read_dot(text.str(), name).at(0);
}

Graph again(const Graph& graph) {
  const std::vector<Graph> read = read_dot(write_dot(graph), "again.dot");
  REQUIRE(read.size() == 1);
  return read[0];
}

}  // namespace

TEST_CASE("dot writer: real dumps come back with the same nodes, launches, copies, bodies and edges") {
  for (const char* name :
       {"llama_decode.dot", "torch_matmul.dot", "memset_memcpy_alloc.dot", "all_kinds_verbose.dot"}) {
    INFO(name);
    const Graph graph = sample(name);
    const Graph back = again(graph);
    const GraphDiff diff = diff_graphs(graph, back);
    CHECK(diff.empty());
    REQUIRE(back.nodes.size() == graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      CHECK(back.nodes[i].kind == graph.nodes[i].kind);
      CHECK(back.nodes[i].mangled == graph.nodes[i].mangled);
      CHECK(back.nodes[i].bodies.size() == graph.nodes[i].bodies.size());
      if (!graph.nodes[i].copy) continue;
      CHECK(back.nodes[i].copy->src == graph.nodes[i].copy->src);
      CHECK(back.nodes[i].copy->src_space == graph.nodes[i].copy->src_space);
      CHECK(back.nodes[i].copy->dst_space == graph.nodes[i].copy->dst_space);
    }
  }
}

TEST_CASE("dot writer: names with braces, bars, angles and quotes survive") {
  Graph graph;
  graph.nodes.resize(1);
  graph.nodes[0].name = "k<int, {1|2}>(\"x\")";
  graph.nodes[0].grid = {2, 3, 4};
  graph.nodes[0].block = {64, 1, 1};
  graph.nodes[0].shared_bytes = 128;
  const Graph back = again(graph);
  CHECK(back.nodes[0].grid == Dim3{2, 3, 4});
  CHECK(back.nodes[0].shared_bytes == 128);
}
