#include <algorithm>

#include "graphs/readers.hpp"
#include "tests/catch.hpp"
#include "tests/graphs/support.hpp"

using namespace refrain;

namespace {

Graph read_one(const std::string& text, const std::string& file = "a.dot") {
  std::vector<Graph> graphs = read_dot(text, file);
  REQUIRE(graphs.size() == 1);
  return std::move(graphs.front());
}

std::ptrdiff_t count(const Graph& graph, NodeKind kind) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [kind](const Node& n) { return n.kind == kind; });
}

void check_is_chain(const Graph& graph) {
  REQUIRE(graph.edges.size() + 1 == graph.nodes.size());
  for (NodeId n = 0; n + 1 < graph.nodes.size(); ++n) {
    CHECK(graph.edges[n].from == n);
    CHECK(graph.edges[n].to == n + 1);
  }
}

const NodeKind kAllKinds[] = {NodeKind::memset,   NodeKind::kernel, NodeKind::memcpy,       NodeKind::memcpy,
                              NodeKind::memcpy,   NodeKind::host,   NodeKind::mem_alloc,    NodeKind::memset,
                              NodeKind::mem_free, NodeKind::child,  NodeKind::event_record, NodeKind::event_wait,
                              NodeKind::kernel,   NodeKind::kernel, NodeKind::kernel,       NodeKind::conditional};

}  // namespace

TEST_CASE("dot: a decode step of a 4-layer model has 225 kernels and one copy, in one chain") {
  const Graph graph = read_one(sample("llama_decode.dot"));
  CHECK(graph.name == "graph_1");
  CHECK(graph.nodes.size() == 226);
  CHECK(count(graph, NodeKind::kernel) == 225);
  CHECK(count(graph, NodeKind::memcpy) == 1);
  check_is_chain(graph);
  const Node& copy = graph.nodes[224];
  REQUIRE(copy.copy);
  CHECK(copy.copy->src == 0x7F10AF400000);
  CHECK(copy.copy->dst == 0x7F10C75C5C00);
  CHECK(copy.copy->bytes == 32);
  CHECK(copy.copy->src_space == MemorySpace::device);
  CHECK(copy.copy->dst_space == MemorySpace::device);
  CHECK(graph.capture.cannot_see(Unseen::kernel_params));
  CHECK(graph.capture.cannot_see(Unseen::edge_kinds));
  CHECK(graph.capture.cannot_see(Unseen::allocations));
  CHECK_FALSE(graph.capture.cannot_see(Unseen::addresses));
  CHECK_FALSE(graph.capture.cannot_see(Unseen::copy_memory_kinds));
  CHECK(graph.notes.empty());
}

TEST_CASE("dot: a split-K matmul has six kernels with their names and dims") {
  const Graph graph = read_one(sample("torch_matmul.dot"));
  CHECK(graph.nodes.size() == 6);
  CHECK(count(graph, NodeKind::kernel) == 6);
  CHECK(graph.nodes[0].name == "nvjet_sm90_tst_64x8_64x16_2x1_v_bz_splitK_NNT");
  CHECK(graph.nodes[0].grid == Dim3{2, 64, 1});
  CHECK(graph.nodes[0].block == Dim3{384, 1, 1});
  CHECK(graph.nodes[0].shared_bytes == 164292);
  CHECK(graph.nodes[1].block == Dim3{32, 16, 1});
  CHECK(graph.nodes[1].mangled.starts_with("_ZN8cublasLt19splitKreduce_kernel"));
  CHECK(describe(graph, 1) == "node 1 (cublasLt::splitKreduce_kernel)");
}

TEST_CASE("dot: memset, copy, alloc and free nodes carry their addresses and sizes") {
  const Graph graph = read_one(sample("memset_memcpy_alloc.dot"));
  REQUIRE(graph.nodes.size() == 6);
  REQUIRE(graph.nodes[0].fill);
  CHECK(graph.nodes[0].fill->dst == 0x7F0665E00000);
  CHECK(graph.nodes[0].fill->bytes == 1024);
  CHECK(graph.nodes[0].fill->value == 0);
  CHECK(graph.nodes[0].fill->element_bytes == 1);
  CHECK(graph.nodes[1].mangled == "_Z4axpy1PfPKfPf");
  CHECK(graph.nodes[1].name == "axpy(P, float, float const*, float*)");  // what c++filt says
  REQUIRE(graph.nodes[2].copy);
  CHECK(graph.nodes[2].copy->src_space == MemorySpace::device);
  CHECK(graph.nodes[2].copy->dst_space == MemorySpace::pageable);
  CHECK(graph.nodes[2].copy->dst == 0x7FFC87F79640);
  CHECK(graph.nodes[2].copy->bytes == 256);
  REQUIRE(graph.nodes[3].allocation);
  CHECK(graph.nodes[3].allocation->address == 0x302000000);
  CHECK(graph.nodes[3].allocation->bytes == 4096);
  REQUIRE(graph.nodes[5].allocation);
  CHECK(graph.nodes[5].allocation->address == 0x302000000);
  CHECK(graph.nodes[5].allocation->bytes == 0);
}

TEST_CASE("dot: the same graph under three flag sets has the same kinds, names, edges and bodies") {
  for (const char* file : {"all_kinds_plain.dot", "all_kinds_verbose.dot", "all_kinds_node_attributes.dot"}) {
    INFO(file);
    const Graph graph = read_one(sample(file));
    CHECK(graph.name == "graph_4");
    REQUIRE(graph.nodes.size() == 16);
    for (std::size_t i = 0; i < 16; ++i) CHECK(graph.nodes[i].kind == kAllKinds[i]);
    check_is_chain(graph);
    CHECK(graph.nodes[1].mangled == "_Z4kmixPfPKhi3Bigd");
    CHECK(graph.nodes[1].name == "kmix(float*, unsigned char const*, int, Big, double)");
    CHECK(graph.nodes[9].name == "child graph_5");
    CHECK(graph.nodes[15].name == "conditional IF");
    for (const NodeId holder : {9U, 15U}) {
      REQUIRE(graph.nodes[holder].bodies.size() == 1);
      const Graph& body = graph.nodes[holder].bodies[0];
      CHECK(body.name == (holder == 9 ? "graph_5" : "graph_6"));
      REQUIRE(body.nodes.size() == 1);
      CHECK(body.nodes[0].name == "ksmall(float*)");
    }
    REQUIRE(graph.nodes[4].copy);
    CHECK(graph.nodes[4].copy->bytes == 2048);
    REQUIRE(graph.nodes[7].fill);
    CHECK(graph.nodes[7].fill->value == 255);
    CHECK(graph.nodes[7].fill->bytes == 8192);
    CHECK_FALSE(graph.capture.cannot_see(Unseen::bodies));
    CHECK(graph.notes.empty());
  }
}

TEST_CASE("dot: only the verbose dump shows addresses, dims and kinds of host memory") {
  const Graph verbose = read_one(sample("all_kinds_verbose.dot"));
  CHECK(verbose.nodes[1].grid == Dim3{2, 3, 1});
  CHECK(verbose.nodes[1].block == Dim3{64, 1, 1});
  CHECK(verbose.nodes[1].shared_bytes == 128);
  CHECK(verbose.nodes[3].copy->src_space == MemorySpace::pageable);
  CHECK(verbose.nodes[4].copy->dst_space == MemorySpace::pinned);
  CHECK(verbose.nodes[6].allocation->bytes == 8192);
  CHECK_FALSE(verbose.capture.cannot_see(Unseen::addresses));
  CHECK_FALSE(verbose.capture.cannot_see(Unseen::copy_memory_kinds));
  for (const char* file : {"all_kinds_plain.dot", "all_kinds_node_attributes.dot"}) {
    const Graph plain = read_one(sample(file));
    CHECK(plain.capture.cannot_see(Unseen::addresses));
    CHECK(plain.capture.cannot_see(Unseen::copy_memory_kinds));
    CHECK(plain.nodes[3].copy->src_space == MemorySpace::unknown);
    CHECK(plain.nodes[3].copy->dst_space == MemorySpace::device);
    CHECK_FALSE(plain.nodes[6].allocation);
  }
}

TEST_CASE("dot: a dump from another project reads as two kernels and an edge") {
  const std::string text = public_data("dot/einsummable_cuda_graph_verbose.dot");
  if (text.empty()) REFRAIN_SKIP("no public data; set REFRAIN_PUBLIC_DATA");
  const Graph graph = read_one(text);
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].name == "exp_kernel(float const*, float*, int)");
  CHECK(graph.nodes[1].grid == Dim3{390625, 1, 1});
  CHECK(graph.edges.size() == 1);
}
