// Replay checks: clean on healthy steps over the whole matrix, and every numeric
// fault caught without a contract.
#include "runtime/verify.hpp"

#include <algorithm>
#include <set>

#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

VerifyResult verify(StepOptions options) {
  const auto driver = test::make_test_driver();
  VerifyResult result = verify_step(*driver, options);
  CHECK(test::holds_nothing(*driver));
  return result;
}

std::set<std::string> replay_rules(const VerifyResult& result) {
  std::set<std::string> ids;
  for (const Finding& finding : result.report.findings())
    if (finding.rule.starts_with("RF9") && finding.severity == Severity::error) ids.insert(finding.rule);
  return ids;
}

StepOptions with(StepKind step, std::initializer_list<Fault> faults, std::int32_t context = 400) {
  StepOptions options;
  options.step = step;
  options.context = context;
  for (const Fault fault : faults) options.faults.add(fault);
  return options;
}

const AxisResult& axis(const VerifyResult& result, const std::string& name, const std::string& fill) {
  const auto found = std::find_if(result.axes.begin(), result.axes.end(),
                                  [&](const AxisResult& a) { return a.name == name && a.fill == fill; });
  REQUIRE(found != result.axes.end());
  return *found;
}

void check_clean(const StepOptions& options) {
  const VerifyResult result = verify(options);
  INFO(to_string(options.step) << " " << to_string(options.kv) << " page " << options.page_size << " context "
                               << options.context << " bucket " << options.bucket_rows());
  for (const AxisResult& a : result.axes) {
    INFO(a.name << " " << a.fill);
    CHECK(a.finite);
    CHECK(a.bit_equal);
    CHECK(a.max_abs_error.value_or(0.0) == 0.0);
  }
  CHECK(result.report.findings().empty());
  CHECK(result.exit_code() == 0);
  CHECK_FALSE(result.first_nan_node);
}

}  // namespace

TEST_CASE("verify: healthy steps are clean over every axis, KV type, page size and short length") {
  for (const StepKind step : {StepKind::grouped, StepKind::xqa})
    for (const Dtype kv : {Dtype::e4m3, Dtype::fp16, Dtype::bf16})
      for (const std::int32_t page : {4, 16, 32, 64})
        for (const std::int32_t context : {0, 1, 3, 4, 5, page - 1, page, page + 1}) {
          StepOptions options = with(step, {}, context);
          options.kv = kv;
          options.page_size = page;
          options.rows = 9;
          options.bucket = 11;
          check_clean(options);
        }
}

TEST_CASE("verify: healthy steps are clean at full selection") {
  for (const StepKind step : {StepKind::grouped, StepKind::xqa})
    for (const Dtype kv : {Dtype::e4m3, Dtype::fp16, Dtype::bf16})
      for (const std::int32_t page : {4, 16, 32, 64})
        for (const std::int32_t context : {2048, 2051}) {
          StepOptions options = with(step, {}, context);
          options.kv = kv;
          options.page_size = page;
          options.rows = 9;
          check_clean(options);
        }
}

TEST_CASE("verify: several requests, pad rows and sizes around a group are clean") {
  for (const std::int32_t rows : {1, 7, 8, 15, 16, 17, 24})
    for (const std::int32_t pads : {0, 1, 5}) {
      StepOptions options = with(StepKind::grouped, {}, 70);
      options.rows = rows;
      options.bucket = rows + pads;
      options.requests = std::min(rows, 3);
      check_clean(options);
    }
}

TEST_CASE("verify: both protections off is caught by the null block axis alone, and the attention is named") {
  const VerifyResult result = verify(with(StepKind::grouped, {Fault::kernel_zero_off, Fault::pad_fix_off}));
  CHECK_FALSE(axis(result, "null block", "0xFF").finite);
  CHECK(axis(result, "unused pages", "0xFF").bit_equal);
  CHECK(replay_rules(result) == std::set<std::string>{"RF901"});
  REQUIRE(result.first_nan_node);
  CHECK(result.first_nan_name == "node 2 (grouped_attention)");
  CHECK(result.exit_code() == 1);
}

TEST_CASE("verify: hybrid state in the null block is enough to show it") {
  const VerifyResult result = verify(with(StepKind::grouped, {Fault::kernel_zero_off, Fault::pad_fix_off}, 2047));
  CHECK_FALSE(axis(result, "null block", "fp16 state").finite);
}

TEST_CASE("verify: the kernel's zeroing alone covers the tail of a real microblock") {
  // 401 tokens, 16 rows: the last grouped row attends a microblock of one token and three unwritten rows.
  StepOptions options = with(StepKind::grouped, {Fault::kernel_zero_off}, 401);
  options.rows = 16;
  const VerifyResult off = verify(options);
  CHECK_FALSE(axis(off, "page tails", "0xFF").finite);
  CHECK(axis(off, "null block", "0xFF").bit_equal);
  CHECK(replay_rules(off) == std::set<std::string>{"RF901"});
  options = with(StepKind::grouped, {Fault::pad_fix_off}, 401);
  options.rows = 16;
  const VerifyResult pad_fix_off = verify(options);
  CHECK(axis(pad_fix_off, "page tails", "0xFF").bit_equal);
  CHECK(replay_rules(pad_fix_off).empty());
}

TEST_CASE("verify: padding fixed in the wrong place is caught without a contract") {
  for (const Fault fault : {Fault::pad_fix_outside, Fault::pad_fix_late})
    CHECK(replay_rules(verify(with(StepKind::grouped, {fault}))) == std::set<std::string>{"RF901"});
}

TEST_CASE("verify: counters that no replay zeroes are caught without a contract") {
  for (const StepKind step : {StepKind::grouped, StepKind::xqa})
    for (const Fault fault : {Fault::scratch_zero_outside, Fault::scratch_zero_short}) {
      INFO(info(fault).name << " on " << to_string(step));
      CHECK_FALSE(replay_rules(verify(with(step, {fault}))).empty());
    }
}

TEST_CASE("verify: pad rows that nobody writes are caught by the output axis") {
  for (const StepKind step : {StepKind::grouped, StepKind::xqa}) {
    const VerifyResult result = verify(with(step, {Fault::pad_rows_unwritten}));
    CHECK_FALSE(axis(result, "output", "0xFF").bit_equal);
    CHECK(replay_rules(result) == std::set<std::string>{"RF901"});
  }
}

TEST_CASE("verify: a failed capture replays nothing and keeps the finding") {
  const VerifyResult result = verify(with(StepKind::xqa, {Fault::host_sync}));
  CHECK(result.axes.empty());
  CHECK_FALSE(result.refused.empty());
  CHECK(result.exit_code() == 1);
}

TEST_CASE("verify: every axis of the matrix is there") {
  StepOptions options = with(StepKind::grouped, {}, 41);
  options.bucket = 24;
  std::set<std::string> names;
  for (const AxisResult& a : verify(options).axes) names.insert(a.name);
  CHECK(names == std::set<std::string>{"fresh memory", "repeat", "eager", "pad rows", "pad tables", "null block",
                                       "page tails", "unused pages", "plan", "scratch", "partials", "LSE",
                                       "table past length", "output"});
}
