#include "graphs/readers.hpp"
#include "graphs/topology.hpp"
#include "tests/catch.hpp"
#include "tests/graphs/support.hpp"

using namespace refrain;

namespace {

Graph read_one(const std::string& text, const std::string& file = "a.dot") {
  std::vector<Graph> graphs = read_dot(text, file);
  REQUIRE(graphs.size() == 1);
  return std::move(graphs.front());
}

// The nodes inside one cluster, as a whole dump.
std::string dump(const std::string& inside) {
  return "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\" graph[style=\"dashed\"];\n" + inside + "\n}\n}\n";
}

std::string record(const std::string& label) {
  return dump("\"graph_1_node_0\"[style=\"solid\" shape=\"record\" label=\"" + label + "\"];");
}

std::string box(const std::string& label) {
  return dump("\"graph_1_node_0\"[style=\"solid\" shape=\"rectangle\" label=\"" + label + "\"];");
}

}  // namespace

TEST_CASE("dot: each kind is known by every spelling") {
  const std::pair<const char*, NodeKind> table[] = {
      {"3\nHOST\n", NodeKind::host},
      {"3 (topoId: 1)\nEMPTY\nnode handle: 0x1\n", NodeKind::empty},
      {"3\nEVENT_RECORD\n", NodeKind::event_record},
      {"3\nRECORD\n", NodeKind::event_record},
      {"3\nEVENT_WAIT\n", NodeKind::event_wait},
      {"3\nWAIT_EVENT\n", NodeKind::event_wait},
      {"3\nMEM_ALLOC\n", NodeKind::mem_alloc},
      {"3\nMEM_FREE\n", NodeKind::mem_free},
      {"3\nBATCH_MEM_OP\n", NodeKind::batch_mem_op},
      {"3\nEXT_SEMAS_SIGNAL\n", NodeKind::semaphore_signal},
      {"3\nEXT_SEMAS_WAIT\n", NodeKind::semaphore_wait},
      {"{\nEXT_SEMAS_WAIT\n| {{ID | node handle} | {0 | 0x1}}\n}", NodeKind::semaphore_wait},
      {"{EMPTY\n| {ID | 0}}", NodeKind::empty},
      {"3\nCHILD_GRAPH\ngraph_9\n", NodeKind::child},
      {"3\ngraph_9\n", NodeKind::child},
      {"3\\nMEMCPY\\n(DtoD,4096)\\n", NodeKind::memcpy},
      {"MEMSET\n(0,4096)", NodeKind::memset},
  };
  for (const auto& [label, kind] : table) {
    INFO(label);
    const Graph graph = read_one(box(label));
    CHECK(graph.nodes[0].kind == kind);
    CHECK(graph.notes.empty());
    if (kind == NodeKind::memcpy || kind == NodeKind::memset)
      CHECK((graph.nodes[0].copy ? graph.nodes[0].copy->bytes : graph.nodes[0].fill->bytes) == 4096);
  }
}

TEST_CASE("dot: an unknown kind is kept by its name and noted once") {
  const Graph graph =
      read_one(dump("\"graph_1_node_0\"[shape=\"rectangle\" label=\"0\nTELEPORT\n\"];\n"
                    "\"graph_1_node_1\"[shape=\"rectangle\" label=\"1\nTELEPORT\n\"];\n"));
  CHECK(graph.nodes[1].kind == NodeKind::other);
  CHECK(graph.nodes[1].name == "TELEPORT");
  CHECK(graph.notes == std::vector<std::string>{"2 nodes of the unknown kind `TELEPORT`, first node 0."});
}

TEST_CASE("dot: an unknown kind inside a body is noted there") {
  const Graph graph = read_one(
      "digraph dot {\nsubgraph cluster_1 {\nlabel=\"graph_1\";\n\"a_0\"[label=\"0\ngraph_2\n\"];\n}\n"
      "subgraph cluster_2 {\nlabel=\"graph_2\";\n\"b_0\"[label=\"0\nTELEPORT\n\"];\n}\n}\n");
  CHECK(graph.notes.empty());
  REQUIRE(graph.nodes[0].bodies.size() == 1);
  CHECK(graph.nodes[0].bodies[0].notes.size() == 1);
}

TEST_CASE("dot: a kernel may be called like a node kind") {
  const Graph graph = read_one(dump("\"graph_1_node_0\"[style=\"bold\" shape=\"octagon\" label=\"0\nHOST\n\"];"));
  CHECK(graph.nodes[0].kind == NodeKind::kernel);
  CHECK(graph.nodes[0].name == "HOST");
}

TEST_CASE("dot: three dims of a grid are read in order") {
  const Graph graph = read_one(record("{KERNEL\n| {ID | 0 | k\\<\\<\\<\\{2,3,4\\},\\{8,1,2\\},0\\>\\>\\>}\n}"));
  CHECK(graph.nodes[0].grid == Dim3{2, 3, 4});
  CHECK(graph.nodes[0].block == Dim3{8, 1, 2});
}

TEST_CASE("dot: a conditional takes every body that the dump holds, and says when one is missing") {
  const std::string label =
      "{\nCONDITIONAL\n| {ID | 0}\n| {Conditional Type| SWITCH}\n| {Case 0|graph_7}\n| {False|graph_8}\n| "
      "{Body|graph_9}\n}\n";
  const std::string bodies =
      "}\nsubgraph cluster_7 {\nlabel=\"graph_7\";\n}\nsubgraph cluster_9 "
      "{\nlabel=\"graph_9\";\n\"graph_9_node_0\"[shape="
      "\"octagon\" label=\"0\nk\n\"];";
  const Graph graph = read_one(dump("\"graph_1_node_0\"[shape=\"record\" label=\"" + label + "\"];\n" + bodies));
  CHECK(graph.nodes[0].name == "conditional SWITCH");
  REQUIRE(graph.nodes[0].bodies.size() == 2);
  CHECK(graph.nodes[0].bodies[0].nodes.empty());
  CHECK(graph.nodes[0].bodies[1].name == "graph_9");
  CHECK(graph.capture.cannot_see(Unseen::bodies));  // graph_8
}

TEST_CASE("dot: a child whose body the dump lacks stays empty and unseen") {
  const Graph graph = read_one(box("0\ngraph_5\n"));
  CHECK(graph.nodes[0].kind == NodeKind::child);
  CHECK(graph.nodes[0].bodies.empty());
  CHECK(graph.capture.cannot_see(Unseen::bodies));
}

TEST_CASE("dot: clusters that nobody names are graphs of their own, in the order of the file") {
  const std::vector<Graph> graphs = read_dot(
      "digraph dot {\nsubgraph cluster_9 {\nlabel=\"graph_9\";\n}\nsubgraph cluster_2 {\nlabel=\"graph_2\";\n}\n}\n",
      "a");
  REQUIRE(graphs.size() == 2);
  CHECK(graphs[0].name == "graph_9");
  CHECK(graphs[1].name == "graph_2");
}

TEST_CASE("dot: one body under two nodes belongs to the first and is unseen in the second") {
  const Graph graph = read_one(
      "digraph dot {\nsubgraph cluster_1 "
      "{\nlabel=\"graph_1\";\n\"a_0\"[label=\"0\ngraph_2\n\"];\n\"a_1\"[label=\"1\ngraph_2\n\"];\n}\n"
      "subgraph cluster_2 {\nlabel=\"graph_2\";\n}\n}\n");
  CHECK(graph.nodes[0].bodies.size() == 1);
  CHECK(graph.nodes[1].bodies.empty());
  CHECK(graph.capture.cannot_see(Unseen::bodies));
  CHECK(graph.notes == std::vector<std::string>{"Node 1 names graph_2, which is the body of another node already."});
}

TEST_CASE("dot: nodes take the numbers that the dump gives them") {
  const Graph graph =
      read_one(dump("\"graph_1_node_1\"[shape=\"octagon\" label=\"1\nb\n\"];\n"
                    "\"graph_1_node_0\"[shape=\"octagon\" label=\"0\na\n\"];\n"
                    "\"graph_1_node_0\" -> \"graph_1_node_1\";"));
  CHECK(graph.nodes[0].name == "a");
  CHECK(graph.edges[0].from == 0);
}

TEST_CASE("dot: memory kinds are read from both sides of a copy") {
  const auto copy = [](const std::string& kind) {
    return *read_one(record("{\nMEMCPY\n| {{ID | node handle} | {0 | 0x1}}\n| {kind | " + kind + "}\n}")).nodes[0].copy;
  };
  CHECK(copy("HtoD (HOST PAGEABLE to DEVICE)").src_space == MemorySpace::pageable);
  CHECK(copy("HtoD (HOST PINNED to DEVICE)").src_space == MemorySpace::pinned);
  CHECK(copy("DtoH (DEVICE to HOST PAGEABLE)").dst_space == MemorySpace::pageable);
  CHECK(copy("DtoD (MANAGED to DEVICE)").src_space == MemorySpace::managed);
  CHECK(copy("AtoD (ARRAY to DEVICE)").src_space == MemorySpace::device);
  CHECK(copy("HtoD (HOST to DEVICE)").src_space == MemorySpace::unknown);
  CHECK(copy("HtoH (HOST PINNED to HOST PAGEABLE)").dst_space == MemorySpace::pageable);
}

TEST_CASE("dot: a copy of no height or depth is one row, and a set counts its elements") {
  const auto extent = [](const char* height, const char* depth) {
    return read_one(record(std::string("{\nMEMCPY\n| {{srcPos | {{x | 0} | {y | 0} | {z | 0}}} | {Extent | {{Width | "
                                       "100} | {Height | ") +
                           height + "} | {Depth | " + depth + "}}}}\n}"))
        .nodes[0]
        .copy->bytes;
  };
  CHECK(extent("0", "0") == 100);
  CHECK(extent("3", "2") == 600);
  const Graph set =
      read_one(record("{MEMSET\n| {{ID | node handle | dptr | pitch | value | elementSize | width | "
                      "height} | {0 | 0x1 | 0x10 | 64 | 7 | 4 | 16 | 3}}}"));
  CHECK(set.nodes[0].fill->bytes == 192);  // 16 elements of 4 bytes, 3 rows
  CHECK(set.nodes[0].fill->value == 7);
}

TEST_CASE("dot: a dump of 300,000 nodes with labels over many lines is read") {
  std::string inside;
  for (int i = 0; i < 300'000; ++i)
    inside += "\"graph_1_node_" + std::to_string(i) + "\"[style=\"bold\" shape=\"record\" label=\"{KERNEL\n| {ID | " +
              std::to_string(i) + " (topoId: 0) | _Z6ksmallPf\\<\\<\\<1,32,0\\>\\>\\>}\n| {cooperative | 0}\n}\"];\n\n";
  for (int i = 1; i < 300'000; ++i)
    inside +=
        "\"graph_1_node_" + std::to_string(i - 1) + "\" -> \"graph_1_node_" + std::to_string(i) + "\" [headlabel=0];\n";
  const Graph graph = read_one(dump(inside));
  CHECK(graph.nodes.size() == 300'000);
  CHECK(graph.nodes[299'999].name == "ksmall(float*)");
  CHECK(Topology(graph).chain_count() == 1);
}
