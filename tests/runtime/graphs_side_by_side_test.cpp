// Graphs beside graphs: a small batch after a larger one, workspaces of another KV
// dtype, and a scratch that no graph exec may lose.
#include <algorithm>

#include "runtime/owned_stream.hpp"
#include "runtime/run.hpp"
#include "runtime/session.hpp"
#include "runtime/steps/attention/attention_step.hpp"
#include "runtime/steps/mla/record.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

/// Two bf16 steps of values up to 4: the records' own rounding, and the output's.
constexpr double kTolerance = 2e-2;

StepOptions step_of(StepKind step, std::int32_t rows, std::int32_t context) {
  StepOptions options;
  options.step = step;
  options.rows = rows;
  options.context = context;
  options.heads = 8;
  options.topk = 128;
  return options;
}

const Buffer& buffer(const Graph& graph, const std::string& name) {
  const auto found =
      std::find_if(graph.buffers.begin(), graph.buffers.end(), [&](const Buffer& b) { return b.name == name; });
  REQUIRE(found != graph.buffers.end());
  return *found;
}

/// Several steps over one arena, captured and replayed by hand.
struct Bench {
  explicit Bench(std::uint64_t bytes) : arena(*driver, registry, bytes) {}

  [[nodiscard]] Captured capture(const Step& step) {
    step.upload(*driver);
    Recorder recorder(*driver, registry, stream);
    step.prepare(recorder);
    CaptureScope scope(recorder, CaptureMode::global);
    step.record(recorder);
    return scope.finish(to_string(step.options().step), {});
  }
  /// The error against the reference.
  [[nodiscard]] double replay(const Step& step, GraphExec& exec) {
    step.upload(*driver);
    exec.launch(stream);
    check(driver->synchronize(stream), "cudaStreamSynchronize");
    const Output output = read_output(*driver, step.outputs());
    CHECK(find_nans(output).count == 0);
    const std::vector<double> reference = step.reference(*driver);
    return max_abs_error(output, [&](std::int64_t i) { return reference[static_cast<std::size_t>(i)]; }).value();
  }

  std::unique_ptr<Driver> driver = test::make_test_driver();
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena;
  OwnedStream stream{*driver};
};

}  // namespace

TEST_CASE(
    "side by side: a small batch replays right after a larger one was captured and replayed over the same arena") {
  for (const std::int32_t large_rows : {64, 80}) {
    StepOptions large = default_options(step_of(StepKind::mla_prefill, large_rows, 257)), small = large;
    small.rows = 3;
    small.seed = 5;
    Bench b(step_arena_bytes(large) + step_arena_bytes(small));
    const auto large_step = make_step(*b.driver, b.registry, b.arena, large);
    Captured large_graph = b.capture(*large_step);
    GraphExec large_exec(*b.driver, b.arena, large_graph, b.stream);
    CHECK(b.replay(*large_step, large_exec) <= kTolerance);
    const auto small_step = make_step(*b.driver, b.registry, b.arena, small);
    Captured small_graph = b.capture(*small_step);
    GraphExec small_exec(*b.driver, b.arena, small_graph, b.stream);
    CHECK(b.replay(*small_step, small_exec) <= kTolerance);
    CHECK(b.replay(*large_step, large_exec) <= kTolerance);
    CHECK(b.replay(*small_step, small_exec) <= kTolerance);
  }
}

TEST_CASE("side by side: a small batch replays right in a session beside a larger one's") {
  const auto driver = test::make_test_driver();
  Session large(*driver, step_of(StepKind::mla_prefill, 80, 257));
  Recorder of_large(large.driver, large.registry, large.stream);
  std::string error;
  std::optional<Captured> graph = large.capture(of_large, error);
  REQUIRE(graph);
  GraphExec exec(large.driver, large.arena, *graph, large.stream);
  exec.launch(large.stream);
  check(large.driver.synchronize(large.stream), "cudaStreamSynchronize");
  RunOptions options;
  options.step = step_of(StepKind::mla_prefill, 3, 257);
  const RunResult small = run_step(*driver, options);
  CHECK(small.replay->bit_equal);
  CHECK(*small.replay->max_abs_error_reference <= kTolerance);
}

TEST_CASE("side by side: the scratch can be neither grown nor released while a graph exec holds it") {
  const StepOptions options = default_options(step_of(StepKind::mla_decode, 8, 300));
  Bench b(2 * MlaBuffers::arena_bytes(options));
  MlaBuffers buffers(*b.driver, b.registry, b.arena, options);
  Recorder recorder(*b.driver, b.registry, b.stream);
  prepare_sparse_mla(recorder, buffers);
  CaptureScope scope(recorder, CaptureMode::global);
  record_sparse_mla(recorder, buffers);
  const Captured captured = scope.finish("sparse_mla_decode", {});
  const Address address = buffers.scratch_lease.address();
  {
    const GraphExec exec(*b.driver, b.arena, captured, b.stream);
    CHECK_THROWS_AS(b.arena.grow(buffers.scratch_lease, buffers.scratch().bytes() + 1), Error);
    CHECK_THROWS_AS(b.arena.release(buffers.scratch_lease), Error);
    CHECK_THROWS_AS(b.arena.grow(buffers.partials, 1 << 20), Error);
    CHECK(buffers.scratch_lease.address() == address);
  }
  CHECK_NOTHROW(b.arena.grow(buffers.scratch_lease, buffers.scratch().bytes() + 1));
}

TEST_CASE("side by side: fp16 and E4M3 attention captured in turn have workspaces of their own, both of fp32") {
  StepOptions fp16;
  fp16.step = StepKind::xqa;
  fp16.rows = 3;
  fp16.context = 100;
  fp16.kv = Dtype::fp16;
  fp16 = default_options(fp16);
  StepOptions e4m3 = fp16;
  e4m3.kv = Dtype::e4m3;
  Bench b(step_arena_bytes(fp16) + step_arena_bytes(e4m3));
  AttentionStep first(*b.driver, b.registry, b.arena, fp16), second(*b.driver, b.registry, b.arena, e4m3);
  const Captured first_graph = b.capture(first), second_graph = b.capture(second);
  const Buffer &of_fp16 = buffer(first_graph.graph, "split partials"),
               &of_e4m3 = buffer(second_graph.graph, "split partials");
  CHECK(of_fp16.base == first.buffers().xqa.partials_address());
  CHECK(of_e4m3.base == second.buffers().xqa.partials_address());
  CHECK((of_fp16.base + of_fp16.bytes <= of_e4m3.base || of_e4m3.base + of_e4m3.bytes <= of_fp16.base));
  CHECK(of_e4m3.dtype == Dtype::fp32);
  CHECK(of_fp16.dtype == Dtype::fp32);
}

TEST_CASE("side by side: equal heads and dim and partitions of another partial dtype are another workspace") {
  StepOptions options;
  options.step = StepKind::xqa;
  options = default_options(options);
  Bench b(4 * AttentionBuffers::arena_bytes(options));
  const XqaBuffers fp16 = lease_xqa(b.arena, options, 3, 0, Dtype::fp16);
  const XqaBuffers e4m3 = lease_xqa(b.arena, options, 3, 0, Dtype::fp32);
  CHECK(fp16.partitions == e4m3.partitions);
  CHECK(fp16.partials_address() != e4m3.partials_address());
  CHECK(b.registry[fp16.partials.id()].dtype == Dtype::fp16);
  CHECK(b.registry[e4m3.partials.id()].dtype == Dtype::fp32);
  CHECK(b.registry[e4m3.partials.id()].bytes == 2 * b.registry[fp16.partials.id()].bytes);
}
