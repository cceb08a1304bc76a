#include "graphs/capture_rules.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace refrain;

namespace {

// As measured on one H200, driver 580.159, CUDA 13.0: `call | return code, result of the end of the capture, nodes in
// the finished graph`, same thread under global, thread_local and relaxed, then the same from a second thread. The
// capture held one kernel already. Two cells of a second thread are the probe's own doing and stand here as `-`.
constexpr const char* kMeasured = R"(
cudaStreamSynchronize(capturing) | 900, end 901 | 900, end 901 | 900, end 901 | 900, end 901 | 900, end 901 | 900, end 901
cudaStreamSynchronize(other) | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaDeviceSynchronize | 900, end 901 | 900, end 901 | 900, end 901 | 900, end 901 | 900, end 901 | 900, end 901
cudaStreamQuery(capturing) | 900, end 901 | 900, end 901 | 900, end 901 | 900, end 901 | 900, end 901 | 900, end 901
cudaStreamQuery(other) | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaEventQuery(pre-recorded) | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaEventSynchronize(pre-recorded) | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
record ev1 + cudaEventQuery(captured) | 907, end 901 | 907, end 901 | 907, end 901 | 907, end 901 | 907, end 901 | 907, end 901
record ev1 + cudaEventSynchronize(captured) | 907, end 901 | 907, end 901 | 907, end 901 | 907, end 901 | 907, end 901 | 907, end 901
cudaMemcpy H2D (sync) | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaMemcpy D2H (sync) | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaMemcpy D2D (sync) | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaMemset (legacy) | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaMemcpyAsync H2D pageable | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes
cudaMemcpyAsync D2H pageable | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes
cudaMemcpyAsync H2D pinned | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes
cudaMemcpyAsync on other stream | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaMalloc | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaFree | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaMallocHost | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaHostRegister | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | - | -
cudaMallocAsync(other) | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaMallocManaged | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaStreamCreate | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaEventCreate | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
launch on legacy stream | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
launch on other stream | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
launch first-use kernel (lazy load) | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes
cudaFuncSetAttribute | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaFuncGetAttributes(first use) | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaPointerGetAttributes | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaMemGetInfo | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaGetDeviceProperties | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cublasCreate | 1, end 901 | 1, end 901 | 0, ok, 1 node | 1, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaLaunchHostFunc | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes
fork not joined | 0, end 904 | 0, end 904 | 0, end 904 | 0, end 904 | 0, end 904 | 0, end 904
wait on uncaptured event | 905, end 901 | 905, end 901 | 905, end 901 | 905, end 901 | 905, end 901 | 905, end 901
BeginCapture twice | 401, ok, 1 node | 401, ok, 1 node | 401, ok, 1 node | 401, ok, 1 node | 401, ok, 1 node | 401, ok, 1 node
cudaGraphInstantiate other graph | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
cudaStreamDestroy(other idle) | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaEventElapsedTime | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaDeviceGetAttribute | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node
cudaMemcpy2DAsync pinned | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes | 0, ok, 2 nodes
cudaCtxResetPersistingL2Cache | 0, ok, 1 node | 0, ok, 1 node | 0, ok, 1 node | - | - | -
cudaDeviceSetLimit | 900, end 901 | 900, end 901 | 0, ok, 1 node | 900, end 901 | 0, ok, 1 node | 0, ok, 1 node
)";

// What a probe would have read for this answer: one kernel before the call, then the end of the capture.
std::string as_measured(const CaptureRule& rule, const Answer& answer) {
  if (rule.api == Api::end_capture) return "0, end " + std::to_string(answer.code);
  const std::string code = std::to_string(answer.code);
  if (answer.effect == Effect::invalidated) return code + ", end 901";
  const int nodes = 1 + answer.nodes;
  return code + ", ok, " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
}

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' ');
    out.push_back(cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return out;
}

const Answer& answer(Api api, Target target, CaptureMode mode, bool same_thread = true, bool blocking = false) {
  const CaptureRule* rule = find_capture_rule(api, target, blocking);
  REQUIRE(rule != nullptr);
  return (same_thread ? rule->same_thread : rule->other_thread)[static_cast<std::size_t>(mode)];
}

constexpr CaptureMode kModes[] = {CaptureMode::global, CaptureMode::thread_local_, CaptureMode::relaxed};

}  // namespace

TEST_CASE("capture rules: each row answers as it was measured, from both threads and in every mode") {
  std::stringstream table(kMeasured);
  int rows = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty()) continue;
    const std::vector<std::string> row = cells(line);
    REQUIRE(row.size() == 7);
    ++rows;
    bool found = false;
    for (const CaptureRule& rule : capture_rules()) {
      if (rule.label != row[0]) continue;
      found = true;
      INFO(row[0]);
      CHECK(rule.other_thread_measured);
      for (std::size_t mode = 0; mode < 3; ++mode) {
        CHECK(as_measured(rule, rule.same_thread[mode]) == row[1 + mode]);
        if (row[4 + mode] != "-") CHECK(as_measured(rule, rule.other_thread[mode]) == row[4 + mode]);
      }
    }
    INFO("no rule is labelled " << row[0]);
    CHECK(found);
  }
  CHECK(rows == 45);  // 46 were measured; the alloc and free pair has its own test
}

TEST_CASE("capture rules: a stream-ordered alloc and its free become a node each") {
  // Measured together: three nodes, of which one is the kernel.
  for (const CaptureMode mode : kModes)
    for (const bool same : {true, false}) {
      const Answer& made = answer(Api::malloc_async, Target::capturing, mode, same);
      const Answer& freed = answer(Api::free_async, Target::capturing, mode, same);
      CHECK(made.effect == Effect::captured);
      CHECK(1 + made.nodes + freed.nodes == 3);
    }
}

TEST_CASE("capture rules: where the second thread's answer was the probe's own, it is that of its kind") {
  // Registering twice gave 712 and a thread without a context 201; neither has to do with the capture, which lived on.
  for (const CaptureMode mode : {CaptureMode::thread_local_, CaptureMode::relaxed})
    CHECK(answer(Api::host_register, Target::none, mode, false).effect == Effect::passed);
  for (const CaptureMode mode : kModes)
    CHECK(answer(Api::ctx_reset_persisting_l2_cache, Target::none, mode, false).effect == Effect::passed);
}

TEST_CASE("capture rules: seven silent calls of the first measurement do device work outside the graph") {
  std::set<std::string> executed;
  for (const CaptureRule& rule : capture_rules())
    if (rule.other_thread_measured && rule.same_thread[0].effect == Effect::executed) executed.insert(rule.label);
  CHECK(executed == std::set<std::string>{"cudaMemcpy H2D (sync)", "cudaMemcpy D2H (sync)", "cudaMemcpy D2D (sync)",
                                          "cudaMemset (legacy)", "cudaMemcpyAsync on other stream",
                                          "launch on legacy stream", "launch on other stream"});
}

TEST_CASE("capture rules: calls of the second measurement answer alike in the three modes") {
  struct Row {
    Api api;
    Target target;
    bool blocking;
    int code;
    Effect effect;
  };
  const Row rows[] = {
      {Api::event_elapsed_time, Target::captured_event, false, 907, Effect::refused},
      {Api::free_async, Target::cuda_malloc_pointer, false, 1, Effect::refused},
      {Api::memcpy_to_symbol, Target::none, false, 0, Effect::executed},
      {Api::memcpy_h2d, Target::none, true, 906, Effect::invalidated},
      {Api::memcpy_d2h, Target::none, true, 906, Effect::invalidated},
      {Api::memcpy_d2d, Target::none, true, 906, Effect::invalidated},
      {Api::memcpy_to_symbol, Target::none, true, 906, Effect::invalidated},
      {Api::memset, Target::none, true, 906, Effect::invalidated},
      {Api::launch_kernel, Target::legacy, true, 906, Effect::invalidated},
      {Api::stream_synchronize, Target::legacy, true, 906, Effect::invalidated},
      {Api::stream_is_capturing, Target::legacy, true, 906, Effect::refused},
      {Api::launch_kernel, Target::per_thread, true, 0, Effect::executed},
      {Api::memcpy_peer_async, Target::capturing, false, 900, Effect::invalidated},
      {Api::mem_prefetch_async, Target::capturing, false, 900, Effect::invalidated},
      {Api::stream_attach_mem_async, Target::capturing, false, 900, Effect::invalidated},
      {Api::stream_add_callback, Target::capturing, false, 900, Effect::invalidated},
      {Api::graph_launch, Target::capturing, false, 900, Effect::invalidated},
      {Api::graph_launch, Target::other, false, 0, Effect::executed},
      {Api::graph_upload, Target::other, false, 0, Effect::executed},
      {Api::stream_wait_event, Target::foreign_event, false, 902, Effect::invalidated},
      {Api::end_capture, Target::forked, false, 903, Effect::invalidated},
      {Api::begin_capture, Target::legacy, false, 900, Effect::refused},
      {Api::exchange_capture_mode, Target::none, false, 0, Effect::passed},
      {Api::memset_async, Target::capturing, false, 0, Effect::captured},
      {Api::memcpy_async_d2h_pinned, Target::capturing, false, 0, Effect::captured},
      {Api::memcpy_to_symbol_async, Target::capturing, false, 0, Effect::captured},
      {Api::event_record_external, Target::capturing, false, 0, Effect::captured},
      {Api::stream_wait_event_external, Target::outside_event, false, 0, Effect::captured},
      {Api::occupancy, Target::none, false, 0, Effect::passed},
      {Api::get_symbol_address, Target::none, false, 0, Effect::passed},
      {Api::set_device, Target::none, false, 0, Effect::passed},
      {Api::event_destroy, Target::none, false, 0, Effect::passed},
      {Api::device_graph_mem_trim, Target::none, false, 0, Effect::passed},
  };
  for (const Row& row : rows)
    for (const CaptureMode mode : kModes) {
      INFO(to_string(row.api) << " on " << to_string(row.target) << ", " << to_string(mode));
      const Answer& got = answer(row.api, row.target, mode, true, row.blocking);
      CHECK(got.code == row.code);
      CHECK(got.effect == row.effect);
      CHECK(got.nodes == (row.effect == Effect::captured ? 1 : 0));
    }
}

TEST_CASE("capture rules: what moves memory is refused unless the capture is relaxed") {
  for (const Api api :
       {Api::free_host, Api::mem_pool_trim_to, Api::mem_pool_set_attribute, Api::mem_advise, Api::graph_exec_destroy}) {
    CHECK(answer(api, Target::none, CaptureMode::global).code == 900);
    CHECK(answer(api, Target::none, CaptureMode::thread_local_).code == 900);
    CHECK(answer(api, Target::none, CaptureMode::relaxed).code == 0);
  }
}

TEST_CASE("capture rules: another thread may end a relaxed capture and no other") {
  for (const CaptureMode mode : kModes) CHECK(answer(Api::end_capture, Target::capturing, mode).code == 0);
  CHECK(answer(Api::end_capture, Target::capturing, CaptureMode::global, false).code == 908);
  CHECK(answer(Api::end_capture, Target::capturing, CaptureMode::thread_local_, false).code == 908);
  CHECK(answer(Api::end_capture, Target::capturing, CaptureMode::relaxed, false).code == 0);
}

TEST_CASE("capture rules: a split-K GEMM captures its own workspace unless it was given one") {
  CHECK(answer(Api::cublas_gemm, Target::capturing, CaptureMode::global).nodes == 4);  // ALLOC, two kernels, FREE
  CHECK(answer(Api::cublas_gemm_own_workspace, Target::capturing, CaptureMode::global).nodes == 2);
}

TEST_CASE("capture rules: no two rows speak of the same call") {
  std::set<std::tuple<Api, Target, bool>> keys;
  for (const CaptureRule& rule : capture_rules()) CHECK(keys.insert({rule.api, rule.target, rule.blocking}).second);
}

TEST_CASE("capture rules: effects, codes and nodes of every row fit together") {
  for (const CaptureRule& rule : capture_rules())
    for (const auto& column : {rule.same_thread, rule.other_thread})
      for (const Answer& cell : column) {
        INFO(rule.label);
        const bool fails = cell.effect == Effect::refused || cell.effect == Effect::invalidated;
        CHECK((cell.code != 0) == fails);
        CHECK((cell.nodes != 0) == (cell.effect == Effect::captured));
        if (fails) CHECK(std::string(code_name(cell.code)) != "cudaError");
      }
}

TEST_CASE("capture rules: a blocking capture without a row of its own is answered like another") {
  const CaptureRule* rule = find_capture_rule(Api::malloc, Target::none, true);
  REQUIRE(rule != nullptr);
  CHECK(rule == find_capture_rule(Api::malloc, Target::none, false));
  CHECK(find_capture_rule(Api::memset, Target::none, true) != find_capture_rule(Api::memset, Target::none, false));
}

TEST_CASE("capture rules: a call that takes no stream is found whatever it is said to be aimed at") {
  CHECK(find_capture_rule(Api::memset, Target::legacy, true) == find_capture_rule(Api::memset, Target::none, true));
  CHECK(find_capture_rule(Api::malloc, Target::other, false) == find_capture_rule(Api::malloc, Target::none, false));
}

TEST_CASE("capture rules: a call that was not measured has no row") {
  CHECK(find_capture_rule(Api::module_load, Target::none, false) == nullptr);
  CHECK(find_capture_rule(Api::stream_is_capturing, Target::legacy, false) == nullptr);
  CHECK(find_capture_rule(Api::launch_kernel, Target::none, false) == nullptr);
}

TEST_CASE("capture rules: every call has a name of its own") {
  std::set<std::string> names;
  for (int api = 0; api <= static_cast<int>(Api::cublas_gemm_own_workspace); ++api)
    CHECK(names.insert(to_string(static_cast<Api>(api))).second);
  CHECK(names.count("?") == 0);
  CHECK(std::string(to_string(Api::stream_synchronize)) == "cudaStreamSynchronize");
  CHECK(std::string(to_string(Target::capturing)) == "the capturing stream");
  CHECK(std::string(to_string(CaptureMode::thread_local_)) == "thread_local");
  CHECK(std::string(code_name(900)) == "cudaErrorStreamCaptureUnsupported");
  CHECK(std::string(code_name(12345)) == "cudaError");
}

TEST_CASE("capture rules: syncs and queries block the host, launches and copies do not") {
  for (const Api api :
       {Api::stream_synchronize, Api::stream_query, Api::device_synchronize, Api::event_query, Api::event_synchronize})
    CHECK(is_sync(api));
  for (const Api api : {Api::launch_kernel, Api::memcpy_async_d2d, Api::memcpy_h2d, Api::malloc, Api::event_record})
    CHECK_FALSE(is_sync(api));
}
