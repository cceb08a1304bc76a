// What cudaGraphExecUpdate absorbs, by the limits that cuda.h states for it.
#include "graphs/exec_update.hpp"

#include "tests/catch.hpp"

using namespace refrain;

namespace {

Node node(NodeKind kind, const char* name) {
  Node made;
  made.kind = kind;
  made.name = name;
  return made;
}

/// kernel, memcpy from pinned memory, memset, in a chain.
Graph step() {
  Graph graph;
  graph.nodes = {node(NodeKind::kernel, "attention"), node(NodeKind::memcpy, ""), node(NodeKind::memset, "")};
  graph.nodes[0].params = {{0, 8, {1, 2, 3, 4, 5, 6, 7, 8}}};
  graph.nodes[1].copy = CopyInfo{0x1000, 0x2000, 64, MemorySpace::pinned, MemorySpace::device};
  graph.nodes[2].fill = FillInfo{0x3000, 64, 0, 1};
  graph.edges = {{0, 1, EdgeKind::full}, {1, 2, EdgeKind::full}};
  return graph;
}

bool says(const std::vector<std::string>& lines, const char* words) {
  for (const std::string& line : lines)
    if (line.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("exec update: equal graphs need none") {
  const ExecUpdate update = exec_update(step(), step());
  CHECK(update.possible());
  CHECK(update.absorbed == 0);
  CHECK(update.may_fail.empty());
}

TEST_CASE("exec update: addresses and launch dims and functions are absorbed") {
  Graph to = step();
  to.nodes[0].params[0].bytes[0] = 9;
  to.nodes[0].grid.x = 7;
  to.nodes[0].name = "another_attention";  // the function of a kernel node may change
  to.nodes[1].copy->src = 0x9000;
  to.nodes[2].fill->value = 1;
  const ExecUpdate update = exec_update(step(), to);
  CHECK(update.possible());
  CHECK(update.absorbed == 3);
  CHECK(update.may_fail.empty());
}

TEST_CASE("exec update: the topology cannot change") {
  Graph more = step();
  more.nodes.push_back(node(NodeKind::kernel, "extra"));
  CHECK(says(exec_update(step(), more).refused, "3 nodes -> 4"));
  Graph cut = step();
  cut.edges.pop_back();
  CHECK(says(exec_update(step(), cut).refused, "node 2"));
  Graph programmatic = step();
  programmatic.edges[0].kind = EdgeKind::programmatic;
  CHECK_FALSE(exec_update(step(), programmatic).possible());
  Graph host = step();
  host.nodes[0].kind = NodeKind::host;
  CHECK(says(exec_update(step(), host).refused, "type of a node changed"));
}

TEST_CASE("exec update: the order in which edges were listed is no change of topology") {
  Graph to = step();
  std::swap(to.edges[0], to.edges[1]);
  CHECK(exec_update(step(), to).possible());
}

TEST_CASE("exec update: a copy cannot change its memory types and pinned and pageable are one type") {
  Graph to = step();
  to.nodes[1].copy->src_space = MemorySpace::device;
  CHECK(says(exec_update(step(), to).refused, "source moves from pinned to device"));
  to.nodes[1].copy->src_space = MemorySpace::pageable;
  CHECK(exec_update(step(), to).possible());
  to.nodes[1].copy->src_space = MemorySpace::unknown;
  CHECK(exec_update(step(), to).possible());
}

TEST_CASE("exec update: a memset of another size may fail") {
  Graph to = step();
  to.nodes[2].fill->bytes = 128;
  const ExecUpdate update = exec_update(step(), to);
  CHECK(update.possible());
  CHECK(says(update.may_fail, "64 bytes becomes one of 128"));
}

TEST_CASE("exec update: bodies are held to the same rules and named with their node") {
  Graph from, to;
  from.nodes = to.nodes = {node(NodeKind::child, "layers")};
  from.nodes[0].bodies = {step()};
  to.nodes[0].bodies = {step()};
  to.nodes[0].bodies[0].edges.pop_back();
  CHECK(says(exec_update(from, to).refused, "node 0 (layers), body 0: "));
  to.nodes[0].bodies = {step()};
  to.nodes[0].bodies[0].nodes[0].grid.y = 2;
  CHECK(exec_update(from, to).possible());
  CHECK(exec_update(from, to).absorbed == 1);
  to.nodes[0].bodies.clear();
  CHECK_FALSE(exec_update(from, to).possible());
}
