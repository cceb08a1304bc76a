// The main job end to end on the host driver: the report's numbers, the counts
// that follow from the geometry, and equality over replays, seeds and routes.
#include "runtime/run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

RunResult run(const RunOptions& options) {
  return run_step(*test::make_test_driver(), options);
}

RunOptions unprotected(std::int32_t rows, std::int32_t requests, std::int32_t context) {
  RunOptions options;
  options.step.rows = rows;
  options.step.requests = requests;
  options.step.context = context;
  options.step.faults.add(Fault::kernel_zero_off);
  options.step.faults.add(Fault::pad_fix_off);
  options.poison = Poison::null_block;
  options.replays = 1;
  return options;
}

/// 16-row M tiles of the 48-row tile in which a query of the group has rows 6q..6q+5.
unsigned tiles_of_query(int query) {
  unsigned tiles = 0;
  for (int row = 6 * query; row < 6 * query + 6; ++row) tiles |= 1u << (row / 16);
  return tiles;
}

/// NaN elements that five poisoned dims of the null block give, from the geometry alone: all blocks are selected,
/// a category is the set of M tiles that attend a microblock, and one whose size is no multiple of 8 gets padding.
int expected_nan(int rows, int requests, int context) {
  std::vector<std::pair<int, int>> placed;  // request, visible tokens
  for (int request = 0; request < requests; ++request) {
    const int n = rows / requests + (request < rows % requests ? 1 : 0);
    for (int i = 0; i < n; ++i) placed.emplace_back(request, context - n + i + 1);
  }
  int nan = 0;
  for (int group = 0; group + 8 <= rows; group += 8) {
    std::map<std::pair<int, int>, unsigned> attending;  // (request, microblock) -> M tiles
    for (int q = 0; q < 8; ++q) {
      const auto [request, visible] = placed[static_cast<std::size_t>(group + q)];
      for (int block = 0; 4 * block < visible; ++block) attending[{request, block}] |= tiles_of_query(q);
    }
    std::map<unsigned, int> sizes;
    for (const auto& [key, tiles] : attending) ++sizes[tiles];
    unsigned padded = 0;
    for (const auto& [tiles, size] : sizes)
      if (size % 8 != 0) padded |= tiles;
    for (int tile = 0; tile < 3; ++tile) nan += padded >> tile & 1u ? 16 * 5 : 0;
  }
  return nan;
}

/// One fp16 step of the value, or 2.5e-4 where that is more.
double tolerance(double value) {
  const double step =
      std::ldexp(1.0, std::max(-24, static_cast<int>(std::floor(std::log2(std::abs(value) + 1e-30))) - 10));
  return std::max(2.5e-4, step);
}

}  // namespace

TEST_CASE("run: the report's case gives 480 NaN at its five head dims in the 16 grouped rows") {
  const RunResult result = run(unprotected(19, 1, 2048));
  REQUIRE(result.replay);
  CHECK(result.replay->nan.count == 480);
  CHECK(result.replay->nan.dims == std::vector<std::int32_t>{102, 152, 168, 170, 230});
  CHECK(result.replay->nan.rows.size() == 16);
  CHECK(result.exit_code() == 1);
}

TEST_CASE("run: 24 rows of 3 requests give 720 NaN") {
  CHECK(run(unprotected(24, 3, 2048)).replay->nan.count == 720);
}

TEST_CASE("run: the NaN count follows from which categories needed padding") {
  CHECK(expected_nan(19, 1, 2048) == 480);
  CHECK(expected_nan(19, 1, 400) == 400);
  for (const int context :
       {19, 20, 31, 64, 77, 128, 131, 255, 400, 513, 640, 771, 804, 1000, 1023, 1290, 1537, 1790, 2001, 2047}) {
    INFO("context " << context);
    CHECK(run(unprotected(19, 1, context)).replay->nan.count == expected_nan(19, 1, context));
  }
}

TEST_CASE("run: each protection alone is enough, and the two give byte-identical outputs") {
  std::vector<RunResult> results;
  for (const Fault off : {Fault::kernel_zero_off, Fault::pad_fix_off}) {
    RunOptions options;
    options.poison = Poison::null_block;
    options.step.faults.add(off);
    results.push_back(run(options));
    const ReplaySummary& replay = *results.back().replay;
    CHECK(replay.nan.count == 0);
    CHECK(replay.bit_equal);
    CHECK(*replay.max_abs_error_reference <= 2.5e-4);
    CHECK(*replay.max_abs_error_xqa <= 2.5e-4);
  }
  CHECK(results[0].replay->output.out() == results[1].replay->output.out());
  CHECK(results[0].replay->output.bytes[1] == results[1].replay->output.bytes[1]);
}

TEST_CASE("run: with every poison the output is finite and equals the unpoisoned one bit for bit") {
  for (const StepKind step : {StepKind::grouped, StepKind::xqa})
    for (const Dtype kv : {Dtype::e4m3, Dtype::fp16, Dtype::bf16})
      for (const std::int32_t context : {5, 19, 131, 804}) {
        RunOptions options;
        options.step.step = step;
        options.step.kv = kv;
        options.step.context = context;
        options.replays = 2;
        const RunResult clean = run(options);
        options.poison = Poison::all;
        const RunResult poisoned = run(options);
        INFO(to_string(step) << " " << to_string(kv) << " context " << context);
        CHECK(poisoned.replay->nan.count == 0);
        CHECK(poisoned.replay->bit_equal);
        CHECK(poisoned.replay->output.out() == clean.replay->output.out());
        CHECK(poisoned.audit.findings().empty());
      }
}

TEST_CASE("run: outputs stay within max(2.5e-4, one fp16 step) of the reference and of XQA for small contexts too") {
  for (const std::int32_t context : {1, 3, 4, 5, 8, 31, 32, 33, 100}) {
    RunOptions options;
    options.step.context = context;
    options.replays = 1;
    const RunResult result = run(options);
    double largest = 0;
    for (std::int64_t i = 0; i < std::int64_t{19} * kHeads * kHeadDim; ++i)
      largest = std::max(
          largest, std::abs(static_cast<double>(load_as_float(result.replay->output.out().data(), Dtype::fp16, i))));
    INFO("context " << context);
    CHECK(*result.replay->max_abs_error_reference <= tolerance(largest));
    CHECK(*result.replay->max_abs_error_xqa <= tolerance(largest));
  }
}

TEST_CASE("run: pad rows of a bucket come out as zeros with an LSE of minus infinity") {
  for (const StepKind step : {StepKind::grouped, StepKind::xqa})
    for (const std::int32_t rows : {1, 7, 8, 11, 16, 19}) {
      RunOptions options;
      options.step.step = step;
      options.step.rows = rows;
      options.step.bucket = rows + 5;
      options.step.context = 77;
      options.poison = Poison::all;
      const RunResult result = run(options);
      INFO(to_string(step) << " rows " << rows);
      const ReplaySummary& replay = *result.replay;
      CHECK(replay.nan.count == 0);
      const std::size_t row_bytes = std::size_t{kHeads} * kHeadDim * 2;
      const auto first_pad = replay.output.out().begin() + static_cast<std::ptrdiff_t>(row_bytes) * rows;
      CHECK(std::all_of(first_pad, replay.output.out().end(), [](std::byte b) { return b == std::byte{0}; }));
      for (std::size_t i = static_cast<std::size_t>(rows) * kHeads; i < replay.output.lse().size(); ++i)
        CHECK((std::isinf(replay.output.lse()[i]) && replay.output.lse()[i] < 0));
      CHECK(result.audit.findings().empty());
    }
}

TEST_CASE("run: the fingerprint is the same for all seeds and differs between steps") {
  std::vector<std::string> fingerprints;
  for (const std::uint64_t seed : {1, 2, 77}) {
    RunOptions options;
    options.step.seed = seed;
    options.step.context = 64;
    options.step.requests = 3;
    fingerprints.push_back(fingerprint(*run(options).graph));
  }
  CHECK(fingerprints[0].size() == 16);
  CHECK(fingerprints[0] == fingerprints[1]);
  CHECK(fingerprints[0] == fingerprints[2]);
  RunOptions decode;
  decode.step.step = StepKind::xqa;
  decode.step.context = 64;
  decode.step.requests = 3;
  CHECK(fingerprint(*run(decode).graph) != fingerprints[0]);
}

TEST_CASE("run: random bytes in page 0 reach the output without the fixes and not with one") {
  RunOptions options = unprotected(19, 1, 2048);
  options.poison = Poison::random_page0;
  CHECK(run(options).replay->nan.count > 0);
  options.step.faults = FaultSet{};
  CHECK(run(options).replay->nan.count == 0);
}

TEST_CASE("run: options and faults that do not fit are usage errors that name the option") {
  const auto refused = [](const char* option, auto change) {
    RunOptions options;
    change(options);
    try {
      (void)run(options);
      FAIL("accepted: " << option);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(error.tried().find(option) == 0);
    }
  };
  refused("--rows", [](RunOptions& o) { o.step.rows = 0; });
  refused("--bucket", [](RunOptions& o) { o.step.bucket = 18; });
  refused("--requests", [](RunOptions& o) { o.step.requests = 20; });
  refused("--context", [](RunOptions& o) { o.step.context = -1; });
  refused("--page-size", [](RunOptions& o) { o.step.page_size = 30; });
  refused("--replays", [](RunOptions& o) { o.replays = 0; });
  refused("--fault workspace-fp16", [](RunOptions& o) { o.step.faults.add(Fault::workspace_fp16); });
  refused("--fault workspace-fp16", [](RunOptions& o) {
    o.step.step = StepKind::xqa;
    o.step.kv = Dtype::fp16;
    o.step.faults.add(Fault::workspace_fp16);
  });
  refused("--scales", [](RunOptions& o) { o.step.scales = "overlay"; });
  refused("--scales", [](RunOptions& o) {
    o.step.step = StepKind::mtp_verify;
    o.step.kv = Dtype::fp16;
    o.step.scales = "overlay";
  });
  refused("--fault draft-scale-missing", [](RunOptions& o) {
    o.step.step = StepKind::mtp_verify;
    o.step.kv = Dtype::fp16;
    o.step.faults.add(Fault::draft_scale_missing);
  });
  refused("--fault pad-fix-off", [](RunOptions& o) {
    o.step.step = StepKind::xqa;
    o.step.faults.add(Fault::pad_fix_off);
  });
  refused("--fault pad-fix-off", [](RunOptions& o) {
    o.step.rows = 7;
    o.step.faults.add(Fault::pad_fix_off);
  });
}
