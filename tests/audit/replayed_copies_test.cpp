// What the audit says of exports whose replays a profiler saw: node by node, with
// a pageable copy captured in a named range; and as a whole, where nothing is seen.
#include <fmt/format.h>

#include "audit/audit.hpp"
#include "tests/catch.hpp"
#include "tests/traces/export_file.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr long long kNode = 2LL << 32;  // of graph exec 2
constexpr int kPageable = 0, kPinned = 1, kDevice = 2, kHostToDevice = 1;

/// One copy is captured in the range `read inputs`; the exec of it is launched twice.
void replays_with_copy(ExportFile& file, int source_kind) {
  file.range("read inputs", 100, 130);
  file.call("cudaMemcpyAsync_v3020", 110, 120, 1);
  file.run(
      "CREATE TABLE CUDA_GRAPH_NODE_EVENTS (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
      "nameId INTEGER, graphNodeId INTEGER, originalGraphNodeId INTEGER)");
  file.run(fmt::format("INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (115, 116, 77, {}, 1, {}, NULL)", global(100, 1),
                       1LL << 32));
  file.run(fmt::format("INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (205, 206, 96, {}, 1, {}, {})", global(100, 1), kNode,
                       1LL << 32));
  for (const int correlation : {7, 8}) {
    file.call("cudaGraphLaunch_v10000", correlation * 100, correlation * 100 + 5, correlation);
    file.copy(correlation * 100 + 10, correlation, 4096, kHostToDevice, source_kind, kDevice, kNode);
    file.kernel("gemm", correlation * 100 + 20, correlation, kNode + 1);
  }
}

std::vector<Finding> findings_of(const ExportFile& file) {
  return audit(Subject{{load_recording(file.path())}}).findings();
}

}  // namespace

TEST_CASE("RF103: a pageable copy inside replays is found and the range of its capture is named") {
  ExportFile file("replayed-copy.sqlite");
  replays_with_copy(file, kPageable);
  const auto findings = findings_of(file);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].rule == "RF103");
  CHECK(findings[0].count == 2);
  CHECK(findings[0].where == "replays of graph exec 2");
  CHECK(findings[0].message.find("2 copies inside 2 replays") == 0);
  REQUIRE(findings[0].evidence.size() == 1);
  CHECK(findings[0].evidence[0] == "4096 bytes, pageable to device, captured in the range read inputs");
}

TEST_CASE("RF103: pinned copies inside replays and eager ones outside steps are none") {
  ExportFile file("replayed-pinned.sqlite");
  replays_with_copy(file, kPinned);
  file.call("cudaMemcpyAsync_v3020", 900, 905, 9);
  file.copy(910, 9, 64, kHostToDevice, kPageable, kDevice);
  CHECK(findings_of(file).empty());
}

TEST_CASE("RF801: replays that were recorded as a whole hide what they did") {
  ExportFile file("whole-replays.sqlite");
  file.capture_option("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph");
  file.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, contextId "
      "INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, "
      "graphExecId INTEGER)");
  for (const int correlation : {7, 8, 9}) {
    file.call("cudaGraphLaunch_v10000", correlation * 100, correlation * 100 + 5, correlation);
    file.run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES ({}, {}, 0, 1, NULL, 7, {}, {}, 1, 2)",
                         correlation * 100 + 10, correlation * 100 + 90, correlation, global(100)));
  }
  const Report report = audit(Subject{{load_recording(file.path())}});
  REQUIRE(report.findings().size() == 1);
  CHECK(report.findings()[0].rule == "RF801");
  CHECK(report.findings()[0].count == 3);
  CHECK(report.findings()[0].fix.find("--cuda-graph-trace=node") != std::string::npos);
  CHECK(report.exit_code() == 3);
}
