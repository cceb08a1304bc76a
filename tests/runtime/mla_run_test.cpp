// The sparse MLA steps end to end: right against the fp64 reference over formats,
// pages and routes, bit-equal over replays, and the same under every poison.
#include <algorithm>
#include <cmath>

#include "kernels/mla_pool_view.hpp"
#include "runtime/run.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

/// Two bf16 steps of values up to 4: the records' own rounding, and the output's.
constexpr double kTolerance = 2e-2;

struct Format {
  MlaRecord record;
  std::int32_t page_size;
};
constexpr Format kFormats[] = {
    {MlaRecord::e4m3_584, 256}, {MlaRecord::e4m3_584, 64}, {MlaRecord::e4m3_656, 64}, {MlaRecord::bf16, 64}};

StepOptions step_of(StepKind step, std::int32_t rows, std::int32_t context, Format format = kFormats[0]) {
  StepOptions options;
  options.step = step;
  options.rows = rows;
  options.context = context;
  options.record = format.record;
  options.page_size = format.page_size;
  options.heads = 8;
  options.topk = 128;
  return options;
}

RunResult run(const StepOptions& step, Poison poison = Poison::none) {
  const auto driver = test::make_test_driver();
  RunOptions options;
  options.step = step;
  options.poison = poison;
  RunResult result = run_step(*driver, options);
  CHECK(test::holds_nothing(*driver));
  return result;
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes)
    if (!node.accesses.empty()) ops.push_back(node.op);  // of an op's nodes the last has them
  return ops;
}

}  // namespace

TEST_CASE("mla run: three replays are bit-equal and right for every format and page size and both routes") {
  for (const Format format : kFormats)
    for (const StepKind step : {StepKind::mla_prefill, StepKind::mla_decode})
      for (const bool sinks : {false, true}) {
        StepOptions options = step_of(step, step == StepKind::mla_prefill ? 66 : 8, 300, format);
        options.sinks = sinks;
        const RunResult result = run(options);
        INFO(to_string(step) << " " << describe(result.options.step));
        REQUIRE(result.replay);
        CHECK(result.replay->count == 3);
        CHECK(result.replay->bit_equal);
        CHECK(result.replay->nan.count == 0);
        CHECK(*result.replay->max_abs_error_reference <= kTolerance);
        CHECK_FALSE(result.replay->has_other_route);
        CHECK(result.audit.findings().empty());
        CHECK(result.exit_code() == 0);
      }
}

TEST_CASE("mla run: up to 64 rows go to the split decode and its merge and more to the prefill") {
  using Ops = std::vector<std::string>;
  const auto ops = [](StepKind step, std::int32_t rows, Format format) {
    return ops_of(*run(step_of(step, rows, 65, format)).graph);
  };
  CHECK(ops(StepKind::mla_prefill, 65, kFormats[0]) == Ops{"page_split", "sparse_mla_prefill"});
  CHECK(ops(StepKind::mla_prefill, 64, kFormats[0]) == Ops{"page_split", "sparse_mla_decode", "merge_mla"});
  CHECK(ops(StepKind::mla_decode, 1, kFormats[0]) == Ops{"page_split", "sparse_mla_decode", "merge_mla"});
  // 64-token pools pass through: no split node.
  for (const Format format : {kFormats[1], kFormats[2], kFormats[3]})
    CHECK(ops(StepKind::mla_decode, 3, format) == Ops{"sparse_mla_decode", "merge_mla"});
}

TEST_CASE("mla run: rows around the change of route are right with pads and several requests") {
  for (const std::int32_t rows : {1, 3, 60, 64, 65, 66}) {
    StepOptions options = step_of(StepKind::mla_prefill, rows, 257);
    options.bucket = rows + 3;
    options.requests = std::min(rows, 3);
    options.topk = 64;
    const RunResult result = run(options, Poison::all);
    INFO("rows " << rows);
    CHECK(result.replay->nan.count == 0);
    CHECK(result.replay->bit_equal);
    CHECK(*result.replay->max_abs_error_reference <= kTolerance);
    CHECK(result.audit.findings().empty());
  }
}

TEST_CASE("mla run: a row without entries and pad rows are zeros, with an LSE of minus infinity or of the sink") {
  for (const bool sinks : {false, true})
    for (const std::int32_t rows : {8, 66}) {
      StepOptions options = step_of(StepKind::mla_prefill, rows, 200);
      options.sinks = sinks;
      options.bucket = rows + 2;
      const RunResult result = run(options, Poison::all);
      const Output& output = result.replay->output;
      const std::size_t row_bytes = 8 * kMlaValueDim * 2;
      const auto zeros = [&](std::int32_t row) {
        const auto first = output.out().begin() + static_cast<std::ptrdiff_t>(row_bytes) * row;
        return std::all_of(first, first + row_bytes, [](std::byte b) { return b == std::byte{0}; });
      };
      for (std::int32_t row = rows - 1; row < rows + 2; ++row) {
        CHECK(zeros(row));
        for (std::int32_t head = 0; head < 8; ++head) {
          const float lse = output.lse()[static_cast<std::size_t>(row * 8 + head)];
          CHECK(std::isinf(lse) == !(sinks && row == rows - 1));
        }
      }
      CHECK_FALSE(zeros(rows - 2));
    }
}

TEST_CASE("mla run: every poison leaves the output as it was bit for bit") {
  for (const Format format : kFormats)
    for (const std::int32_t rows : {8, 66}) {
      const StepOptions options = step_of(StepKind::mla_prefill, rows, 130, format);
      const RunResult clean = run(options);
      for (const Poison poison : {Poison::null_block, Poison::random_page0, Poison::all}) {
        const RunResult poisoned = run(options, poison);
        CHECK(poisoned.replay->output.bytes == clean.replay->output.bytes);
      }
    }
}

TEST_CASE("mla run: the fingerprint is the same for all seeds") {
  StepOptions options = step_of(StepKind::mla_decode, 4, 64);
  options.requests = 2;
  const std::string first = fingerprint(*run(options).graph);
  options.seed = 77;
  CHECK(fingerprint(*run(options).graph) == first);
}

TEST_CASE("mla run: options that do not fit are usage errors that name the option") {
  const auto refused = [](const char* option, auto change) {
    StepOptions options;
    options.step = StepKind::mla_decode;
    change(options);
    try {
      (void)run(options);
      FAIL("accepted: " << option);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(error.tried().find(option) == 0);
    }
  };
  refused("--rows", [](StepOptions& o) { o.rows = 65; });
  refused("--rows", [](StepOptions& o) { o.rows = 64, o.bucket = 65; });
  refused("--page-size", [](StepOptions& o) { o.page_size = 128; });
  refused("--record", [](StepOptions& o) { o.record = MlaRecord::bf16, o.page_size = 256; });
  refused("--heads", [](StepOptions& o) { o.heads = 24; });
  refused("--topk", [](StepOptions& o) { o.topk = 100; });
  refused("--context", [](StepOptions& o) {
    o.requests = 2000, o.step = StepKind::mla_prefill, o.rows = 2000, o.context = 1 << 20;
  });
  refused("--fault split-grown", [](StepOptions& o) { o.faults.add(Fault::split_grown), o.page_size = 64; });
  refused("--fault merge-empty-by-value",
          [](StepOptions& o) { o.step = StepKind::mla_prefill, o.faults.add(Fault::merge_empty_by_value); });
}
