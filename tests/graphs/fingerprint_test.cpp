#include <functional>

#include "graphs/graph.hpp"
#include "tests/catch.hpp"
#include "tests/graphs/support.hpp"

using namespace refrain;

namespace {

struct Change {
  const char* what;
  std::function<void(Graph&)> apply;
};

}  // namespace

TEST_CASE("fingerprint: 16 hex digits, the same every time") {
  const std::string print = fingerprint(full_graph());
  CHECK(print.size() == 16);
  CHECK(print.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(print == fingerprint(full_graph()));
  CHECK(print != fingerprint(Graph{}));
}

TEST_CASE("fingerprint: what differs between two runs of one step does not count") {
  const Change changes[] = {
      {"a buffer's base", [](Graph& g) { g.buffers[0].base += 4096; }},
      {"a buffer's name", [](Graph& g) { g.buffers[0].name = "again"; }},
      {"an allocation id", [](Graph& g) { g.buffers[0].allocation = 5; }},
      {"a birth", [](Graph& g) { g.buffers[0].born = 77; }},
      {"parameter bytes", [](Graph& g) { g.nodes[0].params[0].bytes[0] = 9; }},
      {"a fill's address", [](Graph& g) { g.nodes[1].fill->dst += 16; }},
      {"a copy's addresses", [](Graph& g) { g.nodes[2].copy->src = g.nodes[2].copy->dst = 0; }},
      {"an alloc node's address", [](Graph& g) { g.nodes[3].allocation->address = 1; }},
      {"the graph's name", [](Graph& g) { g.name = "graph_9"; }},
      {"the id that CUDA gave a child", [](Graph& g) { g.nodes[4].name = "child graph_99"; }},
      {"a call site", [](Graph& g) { g.nodes[0].call_site = "x.cpp:1"; }},
      {"the driver", [](Graph& g) { g.capture.driver = "600.1"; }},
      {"the order of the edges", [](Graph& g) { std::swap(g.edges[0], g.edges[3]); }},
      {"an unused buffer", [](Graph& g) { g.buffers.emplace_back(); }},
      {"the order of the buffers",
       [](Graph& g) {
         std::swap(g.buffers[0], g.buffers[1]);
         g.nodes[0].accesses[0].buffer = g.nodes[0].needs[0].buffer = 1;
         g.nodes[0].gives[0].buffer = g.entry[0].buffer = 0;
       }},
  };
  for (const Change& change : changes) {
    Graph graph = full_graph();
    change.apply(graph);
    INFO(change.what);
    CHECK(fingerprint(graph) == fingerprint(full_graph()));
  }
}

TEST_CASE("fingerprint: whatever makes it another step counts") {
  const Change changes[] = {
      {"a kind", [](Graph& g) { g.nodes[1].kind = NodeKind::empty; }},
      {"a name", [](Graph& g) { g.nodes[0].name += "x"; }},
      {"grid", [](Graph& g) { g.nodes[0].grid.z = 5; }},
      {"block", [](Graph& g) { g.nodes[0].block.y = 2; }},
      {"shared memory", [](Graph& g) { ++g.nodes[0].shared_bytes; }},
      {"an op", [](Graph& g) { g.nodes[0].op = "pad_fix"; }},
      {"a contract", [](Graph& g) { g.nodes[0].has_contract = false; }},
      {"an access's begin", [](Graph& g) { ++g.nodes[0].accesses[0].range.begin; }},
      {"an access's end", [](Graph& g) { --g.nodes[0].accesses[0].range.end; }},
      {"a mode", [](Graph& g) { g.nodes[0].accesses[0].mode = Mode::read; }},
      {"a reach", [](Graph& g) { g.nodes[0].accesses[0].reach = Reach::exact; }},
      {"a role", [](Graph& g) { g.nodes[0].accesses[0].role = Role::plan; }},
      {"a dtype", [](Graph& g) { g.nodes[0].accesses[0].dtype = Dtype::bf16; }},
      {"a dropped access", [](Graph& g) { g.nodes[0].accesses.clear(); }},
      {"a need's fact", [](Graph& g) { g.nodes[0].needs[0].fact = Fact::written; }},
      {"a need's range", [](Graph& g) { g.nodes[0].needs[0].range.end = 37440; }},
      {"a need that is given instead", [](Graph& g) { std::swap(g.nodes[0].needs, g.nodes[0].gives); }},
      {"the buffer of an access", [](Graph& g) { g.nodes[0].gives[0].buffer = 0; }},
      {"a buffer's role", [](Graph& g) { g.buffers[0].role = Role::scratch; }},
      {"a buffer's size", [](Graph& g) { ++g.buffers[0].bytes; }},
      {"a buffer's dtype", [](Graph& g) { g.buffers[0].dtype = Dtype::e4m3; }},
      {"a buffer's space", [](Graph& g) { g.buffers[0].space = MemorySpace::device; }},
      {"bytes that no op may write",
       [](Graph& g) {
         g.buffers[0].reserved = {0, 16};
       }},
      {"a buffer that other graphs write", [](Graph& g) { g.buffers[0].shared = true; }},
      {"a copy's size", [](Graph& g) { ++g.nodes[2].copy->bytes; }},
      {"a copy's host memory", [](Graph& g) { g.nodes[2].copy->src_space = MemorySpace::pinned; }},
      {"a fill's value", [](Graph& g) { g.nodes[1].fill->value = 0; }},
      {"a missing fill", [](Graph& g) { g.nodes[1].fill.reset(); }},
      {"an edge", [](Graph& g) { g.edges.pop_back(); }},
      {"an edge's end", [](Graph& g) { g.edges[3].from = 2; }},
      {"an edge's kind", [](Graph& g) { g.edges[0].kind = EdgeKind::full; }},
      {"an entry fact's origin", [](Graph& g) { g.entry[0].origin = Origin::host_each_launch; }},
      {"a dropped entry fact", [](Graph& g) { g.entry.clear(); }},
      {"a body", [](Graph& g) { g.nodes[4].bodies[0].nodes[0].name = "other"; }},
      {"a missing body", [](Graph& g) { g.nodes[4].bodies.clear(); }},
      {"a node more", [](Graph& g) { g.nodes.push_back(kernel("last")); }},
  };
  for (const Change& change : changes) {
    Graph graph = full_graph();
    change.apply(graph);
    INFO(change.what);
    CHECK(fingerprint(graph) != fingerprint(full_graph()));
  }
}
