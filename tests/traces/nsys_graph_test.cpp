// Graph nodes in exports built from the documented schema: clones, clones of
// clones, equal ids of two processes, and captures that the export does not hold.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/traces/export_file.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/graph_nodes.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// As CUPTI numbers them: the graph in the upper half.
constexpr long long node_of(long long graph, long long index) {
  return (graph << 32) + index;
}

/// A row of CUDA_GRAPH_NODE_EVENTS; an original of 0 is NULL.
void node(ExportFile& file, long long id, long long original, int start, int pid = 100,
          const char* table = "CUDA_GRAPH_NODE_EVENTS") {
  file.run(
      fmt::format("CREATE TABLE IF NOT EXISTS {} (start INTEGER NOT NULL, end INTEGER, eventClass INTEGER NOT NULL, "
                  "globalTid INTEGER, nameId INTEGER, graphNodeId INTEGER NOT NULL, originalGraphNodeId INTEGER)",
                  table));
  file.run(fmt::format("INSERT INTO {} VALUES ({}, {}, {}, {}, 1, {}, {})", table, start, start + 1,
                       original == 0 ? 77 : 96, global(pid, 1), id, original == 0 ? "NULL" : std::to_string(original)));
}

/// A capture of graph 1 at time 100 with one launch in each of two ranges.
void capture(ExportFile& file, int pid = 100) {
  file.call("cudaStreamBeginCapture_v10000", 100, 105, 1, pid);
  for (int i = 0; i < 2; ++i) {
    file.range(fmt::format("layer {}", i), 110 + i * 20, 125 + i * 20, pid);
    file.call("cudaLaunchKernel_v7000", 115 + i * 20, 120 + i * 20, 2 + i, pid);
    node(file, node_of(1, i), 0, 117 + i * 20, pid);
  }
  file.call("cudaStreamEndCapture_v10000", 160, 165, 5, pid);
}

void replay(ExportFile& file, int exec, int nodes, int start, int correlation, int pid = 100) {
  file.call("cudaGraphLaunch_v10000", start, start + 5, correlation, pid);
  for (int i = 0; i < nodes; ++i) file.kernel("gemm", start + 10 * (i + 1), correlation, node_of(exec, i), pid);
}

std::string range_of(const Timeline& timeline, const WorkEvent& work) {
  const GraphNodeEvent* found = find_graph_node(timeline, work.process, work.graph_node);
  if (found == nullptr) return "no node";
  const RangeEvent* range = capture_range(timeline, *found);
  return range == nullptr ? "no range" : timeline.text(range->name);
}

std::uint64_t limit_count(const Timeline& timeline, std::string_view name) {
  for (const EvidenceLimit& limit : timeline.limits)
    if (limit.name == name) return limit.count;
  return 0;
}

}  // namespace

TEST_CASE("nsys graph: work inside a replay leads to the call and the range in which it was captured") {
  ExportFile file("clones.sqlite");
  capture(file);
  file.call("cudaGraphInstantiate_v12000", 200, 220, 6);
  for (int i = 0; i < 2; ++i) {
    node(file, node_of(2, i), 0, 205 + i);  // the clone is told as a new node as well
    node(file, node_of(2, i), node_of(1, i), 205 + i);
  }
  node(file, node_of(2, 2), 0, 208);  // CUDA's own
  replay(file, 2, 2, 300, 7);
  replay(file, 2, 2, 400, 8);
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(timeline.work.size() == 4);
  for (const WorkEvent& work : timeline.work)
    CHECK(range_of(timeline, work) == fmt::format("layer {}", work.graph_node & 0xffff'ffff));
  CHECK(captured_nodes_of(timeline, 1, 2) == 2);
  CHECK(captured_nodes_of(timeline, 1, 1) == 0);
  CHECK(captured_nodes_of(timeline, 1, 0xffff'ffff) == 0);
  CHECK(captured_nodes_of(timeline, 2, 2) == 0);
  REQUIRE(timeline.graph_nodes.size() == 2);
  CHECK(timeline.graph_nodes[1].captured == 0x1'0000'0001);
  REQUIRE(timeline.graph_nodes[1].call < timeline.calls.size() + 2 * timeline.ranges.size());
  CHECK(calls_where(timeline, [&](const ApiEvent& c) {
          return c.sequence == timeline.graph_nodes[1].call && c.api == Api::launch_kernel && c.start_ns == 135;
        }) == 1);
  CHECK_FALSE(has_limit(timeline, "nodes-captured-before"));
}

TEST_CASE("nsys graph: the nodes of a child graph are clones of clones") {
  ExportFile file("child.sqlite");
  capture(file);
  for (int i = 0; i < 2; ++i) {
    node(file, node_of(3, 8 + i), node_of(1, i), 180 + i);  // added to its parent
    node(file, node_of(5, i), node_of(3, 8 + i), 205 + i);  // instantiated
    node(file, node_of(6, 4 + i), node_of(5, i), 215 + i);  // and cloned once more
  }
  replay(file, 5, 2, 300, 7);
  const Timeline timeline = load_recording(file.path()).timeline;
  CHECK(timeline.graph_nodes.size() == 6);
  for (const GraphNodeEvent& each : timeline.graph_nodes) CHECK(each.captured >> 32 == 1);
  for (const WorkEvent& work : timeline.work)
    CHECK(range_of(timeline, work) == fmt::format("layer {}", work.graph_node & 0xffff'ffff));
  CHECK(captured_nodes_of(timeline, 1, 6) == 2);
}

TEST_CASE("nsys graph: equal node ids of two processes are followed inside each") {
  ExportFile file("two-graphs.sqlite");
  capture(file, 100);
  node(file, node_of(2, 0), node_of(1, 0), 205, 100);
  node(file, node_of(2, 0), node_of(1, 1), 205, 200);  // whose capture lies before the trace
  replay(file, 2, 1, 300, 7, 100);
  replay(file, 2, 1, 300, 7, 200);
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(timeline.work.size() == 2);
  for (const WorkEvent& work : timeline.work) {
    const bool first = work.process == timeline.graph_nodes[0].process;
    CHECK(range_of(timeline, work) == (first ? "layer 0" : "no range"));
  }
  CHECK(limit_count(timeline, "nodes-captured-before") == 1);
}

TEST_CASE("nsys graph: a chain that ends outside the export keeps the last node that is known and says so") {
  ExportFile file("outside.sqlite");
  node(file, node_of(2, 0), node_of(1, 0), 205);
  node(file, node_of(3, 0), node_of(2, 0), 207);
  node(file, node_of(8, 0), node_of(9, 0), 208);  // in a circle
  node(file, node_of(9, 0), node_of(8, 0), 209);
  replay(file, 3, 1, 300, 7);
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(timeline.graph_nodes.size() == 4);
  CHECK(timeline.graph_nodes[1].node == node_of(3, 0));
  CHECK(timeline.graph_nodes[1].captured == node_of(1, 0));
  CHECK(timeline.graph_nodes[1].call == WorkEvent::kNoCall);
  CHECK(range_of(timeline, timeline.work[0]) == "no range");
  CHECK(limit_count(timeline, "nodes-captured-before") == 4);
}

TEST_CASE("nsys graph: a node that no recorded call made has no call") {
  ExportFile file("no-call.sqlite");
  node(file, node_of(1, 0), 0, 50);
  node(file, node_of(2, 0), node_of(1, 0), 205);
  file.call("cudaLaunchKernel_v7000", 60, 70, 1);
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(timeline.graph_nodes.size() == 1);
  CHECK(timeline.graph_nodes[0].call == WorkEvent::kNoCall);
  CHECK_FALSE(has_limit(timeline, "nodes-captured-before"));
}

TEST_CASE("nsys graph: exports of 2022 tell of nodes in the table of graphs") {
  ExportFile file("old-nodes.sqlite");
  node(file, node_of(1, 0), 0, 117, 100, "CUDA_GRAPH_EVENTS");
  node(file, node_of(2, 0), node_of(1, 0), 205, 100, "CUDA_GRAPH_EVENTS");
  file.call("cudaLaunchKernel_v7000", 115, 120, 1);
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(timeline.graph_nodes.size() == 1);
  CHECK(timeline.graph_nodes[0].captured == node_of(1, 0));
  CHECK(timeline.graph_nodes[0].call == timeline.calls[0].sequence);
  CHECK(timeline.calls[0].made == 0);
}
