// One graph for each kind of harm, and its twin without: what counts as broken, and
// which rule it is for.
#include "audit/mutate/harms.hpp"
#include "tests/audit/build.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;
using mutate::harms_of;

namespace {

std::set<std::string> rules_of(const Graph& graph) {
  std::set<std::string> rules;
  for (const mutate::Harm& harm : harms_of(graph)) rules.insert(harm.rules.begin(), harm.rules.end());
  return rules;
}

using Rules = std::set<std::string>;

/// Written by one node, read by the next.
Graph pair(Role role = Role::unknown) {
  Graph graph = graph_of({op("write", {touch(0, Mode::write)}), op("read", {touch(0, Mode::read)})}, {{0, 1}});
  graph.buffers[0].role = role;
  return graph;
}

Node wants_zero() {
  return op("count", {touch(0, Mode::accumulate)}, {{Fact::zeroed, 0, kAll}});
}

}  // namespace

TEST_CASE("harms: a pair in order has none and without its edge the reader may come first") {
  Graph graph = pair();
  CHECK(rules_of(graph).empty());
  graph.edges.clear();
  CHECK(rules_of(graph) == Rules{"RF306"});
}

TEST_CASE("harms: zeroing that is missing or short or late has a rule each") {
  Graph missing = graph_of({op("write", {touch(0, Mode::write)}), wants_zero()}, {{0, 1}});
  CHECK(rules_of(missing) == Rules{"RF301"});
  Graph short_one =
      graph_of({op("write", {touch(0, Mode::write)}), zeroes(0, {0, 16}), wants_zero()}, {{0, 1}, {1, 2}});
  CHECK(rules_of(short_one) == Rules{"RF302"});
  Graph late = graph_of({op("write", {touch(0, Mode::write)}), wants_zero(), zeroes(0)}, {{0, 1}, {1, 2}});
  CHECK(rules_of(late) == Rules{"RF303"});
  Graph in_time = graph_of({zeroes(0), wants_zero()}, {{0, 1}});
  CHECK(rules_of(in_time).empty());
}

TEST_CASE("harms: a fact from before the first replay holds only where the graph leaves it so") {
  Graph graph = graph_of({wants_zero()}, {});
  graph.entry = {{Fact::zeroed, 0, kAll, Origin::initialised_once, ""}};
  CHECK(rules_of(graph) == Rules{"RF301"});
  graph.nodes.push_back(zeroes(0));
  graph.edges = {{0, 1, EdgeKind::full}};
  CHECK(rules_of(graph).empty());
  graph.buffers[0].shared = true;
  CHECK(rules_of(graph) == Rules{"RF301"});
}

TEST_CASE("harms: an output must be written for sure from its first byte to its last") {
  Graph graph = graph_of({op("write", {touch(0, Mode::write, {0, 32})})}, {});
  graph.buffers[0].role = Role::output;
  CHECK(rules_of(graph) == Rules{"RF308"});
  graph.nodes[0].accesses[0].range = kAll;
  CHECK(rules_of(graph).empty());
  graph.nodes[0].accesses[0].reach = Reach::may;
  CHECK(rules_of(graph) == Rules{"RF308"});
}

TEST_CASE("harms: an input of which the host refreshes a part is stale in the rest") {
  Graph graph = graph_of({op("read", {touch(0, Mode::read)})}, {});
  graph.buffers[0].role = Role::input;
  graph.entry = {{Fact::written, 0, {0, 32}, Origin::host_each_launch, ""}};
  CHECK(rules_of(graph) == Rules{"RF311"});
  graph.entry[0].range = kAll;
  CHECK(rules_of(graph).empty());
}

TEST_CASE("harms: a dead buffer is stale or reused or grown or host memory") {
  Graph graph = pair(Role::workspace);
  graph.buffers[0].died = 5;
  CHECK(rules_of(graph) == Rules{"RF401"});
  graph.buffers.push_back(graph.buffers[0]);
  graph.buffers[1].name = "tenant";
  graph.buffers[1].born = 6;
  graph.buffers[1].died.reset();
  CHECK(rules_of(graph) == Rules{"RF402"});
  graph.buffers[1].name = graph.buffers[0].name;
  graph.buffers[1].bytes = 128;
  CHECK(rules_of(graph) == Rules{"RF206"});
  graph.buffers[0].space = MemorySpace::pinned;
  CHECK(rules_of(graph) == Rules{"RF403"});
}

TEST_CASE("harms: an access past the end or into reserved bytes or to memory of nobody has a rule each") {
  Graph graph = pair();
  graph.nodes[1].accesses[0].range.end = 65;
  CHECK(rules_of(graph) == Rules{"RF408"});
  graph = pair();
  graph.buffers[0].reserved = {0, 16};
  CHECK(rules_of(graph) == Rules{"RF310"});
  for (const MemorySpace space : {MemorySpace::unknown, MemorySpace::pageable}) {
    graph = pair();
    graph.buffers[0].space = space;
    CHECK(rules_of(graph) == Rules{"RF404"});
  }
}

TEST_CASE("harms: an edge without a wait harms only where something rests on it") {
  Graph graph = pair();
  graph.edges[0].kind = EdgeKind::programmatic;
  graph.nodes[1].waits = true;
  CHECK(rules_of(graph).empty());
  graph.nodes[1].waits = false;
  CHECK(rules_of(graph) == Rules{"RF309"});
  graph.nodes[1].accesses.clear();
  CHECK(rules_of(graph).empty());
}

TEST_CASE("harms: what is read before a wait must be done where kernels ahead trigger before they wait") {
  NodeAccess early = touch(0, Mode::read);
  early.before_wait = true;
  Graph graph =
      graph_of({op("plan", {touch(0, Mode::write)}), op("norm", {touch(1, Mode::write)}), op("attend", {early})},
               {{0, 1}, {1, 2}}, 2);
  for (Edge& edge : graph.edges) edge.kind = EdgeKind::programmatic;
  for (Node& node : graph.nodes) node.waits = true;
  CHECK(rules_of(graph).empty());
  graph.nodes[1].triggers_first = true;
  CHECK(rules_of(graph) == Rules{"RF309"});
  graph.edges[0].kind = EdgeKind::full;
  CHECK(rules_of(graph).empty());
}

TEST_CASE("harms: half partials harm under an E4M3 pool alone") {
  Graph graph = graph_of({op("attend", {touch(0, Mode::read), touch(1, Mode::write)})}, {}, 2);
  graph.entry = {{Fact::written, 0, kAll, Origin::initialised_once, ""}};
  graph.nodes[0].accesses[0].role = Role::kv_pool;
  graph.nodes[0].accesses[0].dtype = Dtype::e4m3;
  graph.nodes[0].accesses[1].role = Role::workspace;
  graph.nodes[0].accesses[1].dtype = Dtype::fp16;
  CHECK(rules_of(graph) == Rules{"RF204"});
  graph.nodes[0].accesses[0].dtype = Dtype::fp16;
  CHECK(rules_of(graph).empty());
}
