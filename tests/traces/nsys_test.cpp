// Exports built from the documented schema: what no public file holds.
#include "traces/nsys/nsys_reader.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "tests/catch.hpp"
#include "tests/traces/export_file.hpp"
#include "tests/traces/support.hpp"
#include "tests/traces/trace_support.hpp"
#include "traces/readers.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr long long kNode = 2LL << 32;  // of graph exec 2, as CUPTI numbers them

/// Instantiated once and replayed twice inside steps.
void replays(ExportFile& file) {
  file.call("cudaGraphInstantiateWithFlags_v11040", 10, 20, 1);
  file.run(
      "CREATE TABLE CUDA_GRAPH_EVENTS (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId "
      "INTEGER, graphId INTEGER, originalGraphId INTEGER, graphExecId INTEGER)");
  file.run(fmt::format("INSERT INTO CUDA_GRAPH_EVENTS VALUES (15, 16, 94, {}, 1, 1, NULL, 2)", global(100, 1)));
  for (int step = 0; step < 2; ++step) {
    file.range(fmt::format("decode_step_{}", step), 100 * (step + 1), 100 * (step + 1) + 50);
    file.call("cudaGraphLaunch_v10000", 100 * (step + 1) + 10, 100 * (step + 1) + 20, 10 + step);
  }
}

}  // namespace

TEST_CASE("nsys: in node mode a replay owns the work of its nodes and names its graph exec") {
  ExportFile file("node-mode.sqlite");
  replays(file);
  for (const int correlation : {10, 11})
    for (int node = 0; node < 3; ++node) file.kernel("attention", 115 + node * 10, correlation, kNode + node);
  file.copy(150, 10, 640, 8, 2, 2, kNode + 3);
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(steps_in(timeline).size() == 2);
  const auto first = calls_in(timeline, *steps_in(timeline)[0]), second = calls_in(timeline, *steps_in(timeline)[1]);
  REQUIRE(first.size() == 1);
  REQUIRE(second.size() == 1);
  CHECK(first[0]->api == Api::graph_launch);
  CHECK(work_of(timeline, *first[0]) == 4);
  CHECK(work_of(timeline, *second[0]) == 3);
  REQUIRE(timeline.calls[0].api == Api::graph_instantiate);
  CHECK(timeline.calls[0].made == first[0]->object);
  CHECK(first[0]->object == second[0]->object);
  CHECK(work_where(timeline, [](const WorkEvent& w) { return w.graph_node >> 32 == 2; }) == 7);
  CHECK_FALSE(has_limit(timeline, "graph-mode"));
}

TEST_CASE("nsys: in graph mode a replay is one record of its graph exec and its contents are a limit") {
  ExportFile file("graph-mode.sqlite");
  replays(file);
  file.capture_option("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph");
  file.run(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER, end INTEGER, deviceId INTEGER, streamId "
      "INTEGER, correlationId INTEGER, globalPid INTEGER, graphId INTEGER, graphExecId INTEGER)");
  for (const int correlation : {10, 11})
    file.run(fmt::format("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (130, 140, 0, 7, {}, {}, 1, 2)",
                         correlation, global(100)));
  const Timeline timeline = load_recording(file.path()).timeline;
  CHECK(work_where(timeline, [](const WorkEvent& w) { return w.kind == WorkKind::graph; }) == 2);
  CHECK(calls_where(timeline, [&](const ApiEvent& c) {
          return c.api == Api::graph_launch && c.object == timeline.calls[0].made && c.object != 0;
        }) == 2);
  REQUIRE(has_limit(timeline, "graph-mode"));
  CHECK(timeline.problems.empty());
}

TEST_CASE("nsys: equal correlation ids of two processes are joined with the process") {
  ExportFile file("two-processes.sqlite");
  file.call("cudaMemcpyAsync_v3020", 10, 20, 5, 100);
  file.call("cudaLaunchKernel_v7000", 10, 20, 5, 200);
  file.copy(30, 5, 64, 1, 0, 2);
  file.kernel("gemm", 30, 5, 0, 200, 9);
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(timeline.calls.size() == 2);
  CHECK(calls_where(timeline, [](const ApiEvent& c) {
          return c.api == Api::memcpy_async_h2d_pageable && c.bytes == 64 && c.stream == 7;
        }) == 1);
  CHECK(calls_where(timeline, [&](const ApiEvent& c) {
          return c.api == Api::launch_kernel && timeline.text(c.detail) == "gemm" && c.stream == 9 && c.bytes == 0;
        }) == 1);
  CHECK(timeline.calls[0].thread != timeline.calls[1].thread);
  CHECK(timeline.work[0].process != timeline.work[1].process);
}

TEST_CASE("nsys: what ran during a capture is apart from what was captured") {
  ExportFile file("capture.sqlite");
  file.call("cudaStreamBeginCapture_v10000", 10, 12, 1);
  file.call("cudaLaunchKernel_v7000", 20, 22, 2);
  file.call("cudaLaunchKernel_v7000", 30, 32, 3);
  file.call("cudaStreamEndCapture_v10000", 40, 42, 4);
  file.call("cudaLaunchKernel_v7000", 50, 52, 5);
  file.kernel("escaped", 35, 3, 0, 100, 13);
  file.kernel("after", 55, 5);
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(timeline.calls.size() == 5);
  CHECK(timeline.calls[1].capture == 1);
  CHECK(timeline.calls[1].target == Target::capturing);
  CHECK(timeline.calls[2].target == Target::other);
  CHECK(timeline.calls[2].stream == 13);
  CHECK(timeline.calls[4].capture == 0);
}

TEST_CASE("nsys: work on the null stream during a capture is the legacy stream's") {
  ExportFile file("legacy.sqlite");
  file.run("CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, processId INTEGER)");
  file.run("INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 100)");
  file.call("cuStreamBeginCapture_v2", 10, 12, 1);
  file.call("cuLaunchKernelEx_ptsz", 20, 22, 2);
  file.call("cuStreamEndCapture", 40, 42, 4);
  file.kernel("escaped", 35, 2, 0, 100, 7);
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(timeline.calls.size() == 3);
  CHECK(timeline.calls[1].target == Target::legacy);
  CHECK(timeline.calls[1].stream == 0);
}

TEST_CASE("nsys: a capture that the export does not end swallows nothing") {
  ExportFile file("open-capture.sqlite");
  file.call("cudaStreamBeginCapture_v10000", 10, 12, 1);
  file.call("cudaLaunchKernel_v7000", 20, 22, 2);
  file.kernel("later", 25, 2);
  const Timeline timeline = load_recording(file.path()).timeline;
  CHECK(calls_where(timeline, [](const ApiEvent& c) { return c.capture != 0; }) == 0);
}

TEST_CASE("nsys: a driver call inside a runtime call is the same call and one beside it is another") {
  ExportFile file("nested.sqlite");
  file.call("cudaLaunchKernel_v7000", 10, 20, 1);
  file.call("cuLaunchKernel", 12, 18, 1);
  file.call("cuLaunchKernel", 30, 40, 2);
  const Timeline timeline = load_recording(file.path()).timeline;
  CHECK(calls_of(timeline, Api::launch_kernel) == 2);
}

TEST_CASE("nsys: return codes and memory events come with their calls") {
  ExportFile file("codes.sqlite");
  file.call("cudaMalloc_v3020", 10, 20, 1);
  file.call("cudaEventQuery_v3020", 30, 31, 2, 100, 600);
  file.call("cudaStreamSynchronize_v3020", 40, 41, 3, 100, 900);
  file.run(
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, address INTEGER, bytes INTEGER, "
      "memKind INTEGER, correlationId INTEGER)");
  file.run(fmt::format("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (15, {}, 4096, 512, 2, 1)", global(100)));
  const Timeline timeline = load_recording(file.path()).timeline;
  REQUIRE(timeline.calls.size() == 3);
  CHECK(timeline.calls[0].address == 4096);
  CHECK(timeline.calls[0].bytes == 512);
  CHECK(timeline.calls[0].space == MemorySpace::device);
  CHECK(timeline.calls[1].code == 600);
  CHECK(timeline.calls[2].code == 900);
}

TEST_CASE("nsys: memory kinds are decoded by the names of the export's own table") {
  ExportFile file("enums.sqlite");
  // Shifted by one, as CUPTI counts them.
  file.run("CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT)");
  file.run(
      "INSERT INTO ENUM_CUDA_MEM_KIND VALUES (1, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', ''), "
      "(2, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', ''), (3, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', '')");
  file.call("cudaMemcpyAsync_v3020", 10, 20, 1);
  file.call("cudaMemcpyAsync_v3020", 30, 40, 2);
  file.copy(15, 1, 8, 1, 1, 3);
  file.copy(35, 2, 8, 2, 3, 2);
  const Timeline timeline = load_recording(file.path()).timeline;
  CHECK(calls_of(timeline, Api::memcpy_async_h2d_pageable) == 1);
  CHECK(calls_of(timeline, Api::memcpy_async_d2h_pinned) == 1);
}

TEST_CASE("nsys: rows that make no sense are counted and what the profiler dropped is a problem") {
  ExportFile file("bad-rows.sqlite");
  file.call("cudaMalloc_v3020", 10, 20, 1);
  file.call("cudaMalloc_v3020", 30, 20, 2);
  file.run("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ('soon', 'later', 0, 'x', 'y', 1, 0, 0, 0)");
  file.run("CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER, source INTEGER, severity INTEGER, text TEXT)");
  file.run(
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 3, 'Profiling has started.'), (2, 2, 3, '12 CUDA records were "
      "dropped.')");
  const Recording recording = load_recording(file.path());
  CHECK(recording.timeline.calls.size() == 1);
  CHECK(problems(recording, "bad-row") == 2);
  CHECK(problems(recording, "records-dropped") == 1);
}

TEST_CASE("nsys: wrong cut changed and empty files are refused in one line") {
  ExportFile file("whole.sqlite");
  for (int i = 0; i < 400; ++i) file.call("cudaLaunchKernel_v7000", i * 10, i * 10 + 5, i);
  const std::string whole = bytes_of(file.path());
  REQUIRE(whole.size() > 40'000);
  for (std::size_t size = 100; size < whole.size(); size += 4'099) {
    INFO("cut at " << size);
    const std::string error = load_error(file_of("cut.sqlite", whole.substr(0, size)));
    CHECK(error.find("cut.sqlite") != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
  }
  for (std::size_t at = 16; at < whole.size(); at += 997) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    INFO("changed at " << at);
    CHECK(load_error(file_of("changed.sqlite", changed)).find('\n') == std::string::npos);
  }
  CHECK_FALSE(load_error(file_of("empty.sqlite", "")).empty());
  const std::string other = load_error(file_of("magic.sqlite", std::string("SQLite format 3\0", 16)));
  CHECK(other.find("damaged or cut") != std::string::npos);
}

TEST_CASE("nsys: a database of another kind is told from an export") {
  const std::string path = path_of("other.sqlite");
  {
    ExportFile file("other.sqlite");
    file.run("DROP TABLE META_DATA_EXPORT");
    file.run("CREATE TABLE cookies (id INTEGER)");
  }
  const std::string error = load_error(path);
  CHECK(error.find("expected an Nsight Systems export") != std::string::npos);
  CHECK(error.find("cookies") != std::string::npos);
  CHECK(error.find("nsys export --type sqlite") != std::string::npos);
}

TEST_CASE("nsys: an export that another program holds locked is read all the same and nothing is left beside it") {
  ExportFile file("locked%20 #1?.sqlite");
  file.call("cudaMalloc_v3020", 10, 20, 1);
  file.run("BEGIN EXCLUSIVE");
  CHECK(load_recording(file.path()).timeline.calls.size() == 1);
  CHECK_FALSE(std::filesystem::exists(file.path() + "-wal"));
  file.run("ROLLBACK");
}

TEST_CASE("nsys: an export that another program is writing is refused in one line") {
  for (const char* mode : {"DELETE", "WAL"}) {
    ExportFile file(fmt::format("writing-{}.sqlite", mode));
    file.run(fmt::format("PRAGMA journal_mode = {}", mode));
    file.call("cudaMalloc_v3020", 10, 20, 1);
    file.run("BEGIN EXCLUSIVE");
    file.call("cudaMalloc_v3020", 30, 40, 2);
    const std::string error = load_error(file.path());
    INFO(error);
    CHECK(error.find("being written") != std::string::npos);
    CHECK(error.find('\n') == std::string::npos);
    file.run("ROLLBACK");
  }
}

TEST_CASE("nsys: ranges that number a step are steps and others are not") {
  ExportFile file("steps.sqlite");
  int at = 0;
  for (const char* name : {"decode_step_3", "Step 12", "_forward_step 40: 8 requests", "step[7]", "iteration=2"}) {
    at += 10;
    file.range(name, at, at + 5);
  }
  for (const char* name :
       {"Optimizer.step#SGD.step", "timestep 3", "prefill", "stepwise 4", "PyTorch Profiler (0)", ""}) {
    at += 10;
    file.range(name, at, at + 5);
  }
  const Timeline timeline = load_recording(file.path()).timeline;
  CHECK(timeline.ranges.size() == 11);
  CHECK(steps_in(timeline).size() == 5);
}
