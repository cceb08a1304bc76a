// Two captures of one step: clean on every step, and exact about a length that is
// baked into one op's Args.
#include "runtime/verify_twice.hpp"

#include <fmt/format.h>
#include <cstddef>

#include "kernels/kv_append.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

TwiceResult twice(const StepOptions& options) {
  const auto driver = test::make_test_driver();
  TwiceResult result = verify_twice(*driver, options);
  CHECK(test::holds_nothing(*driver));
  return result;
}

StepOptions small(StepKind step) {
  StepOptions options;
  options.step = step;
  options.context = 100;
  if (is_mla(step)) options.heads = 8, options.topk = 128;
  if (step == StepKind::mla_prefill) options.rows = 65;
  options.allow_e4m3_mtp = step == StepKind::mtp_verify;
  return options;
}

}  // namespace

TEST_CASE("verify twice: no step has a baked scalar though rows and lengths and values and memory differ") {
  for (const StepKind step : kStepKinds) {
    const TwiceResult result = twice(small(step));
    INFO(to_string(step) << " " << result.refused);
    CHECK(result.refused.empty());
    CHECK(result.report.findings().empty());
    CHECK(result.report.was_checked("RF405"));
    REQUIRE(result.recording.graphs.size() == 2);
    CHECK(result.recording.graphs[0].capture.bucket == result.recording.graphs[1].capture.bucket);
    CHECK(result.second.context == result.first.context - 1);
    CHECK(result.second.seed != result.first.seed);
  }
}

TEST_CASE("verify twice: every buffer that a graph names lies elsewhere in the other") {
  const TwiceResult result = twice(small(StepKind::xqa));
  for (const Buffer& one : result.recording.graphs[0].buffers)
    for (const Buffer& other : result.recording.graphs[1].buffers) CHECK(one.base != other.base);
}

TEST_CASE("verify twice: a baked count of rows is one finding by node and parameter and offset and both values") {
  for (const StepKind step : {StepKind::grouped, StepKind::xqa}) {
    StepOptions options = small(step);
    options.faults.add(Fault::baked_length);
    const TwiceResult result = twice(options);
    REQUIRE(result.report.findings().size() == 1);
    const Finding& finding = result.report.findings()[0];
    CHECK(finding.rule == "RF405");
    CHECK(finding.nodes == std::vector<NodeId>{0});
    const std::size_t offset = offsetof(KvAppendArgs, batch) + offsetof(BatchView, bucket);
    CHECK(finding.message.find(fmt::format("parameter 0, byte {}, is 19 in one capture and 18 in the other", offset)) !=
          std::string::npos);
    CHECK(result.exit_code() == 1);
  }
}

TEST_CASE("verify twice: the other capture stays in the bucket and in the pages") {
  StepOptions options = small(StepKind::xqa);
  options.context = 97;  // the first token of the fourth page of 32: one fewer would be three pages
  CHECK(other_in_bucket(options).context == 98);
  options.rows = 1;
  CHECK(other_in_bucket(options).rows == 1);
  options.rows = 3;
  options.bucket = 8;
  const StepOptions other = other_in_bucket(options);
  CHECK(other.rows == 2);
  CHECK(bucket_key(other) == bucket_key(default_options(options)));
}

TEST_CASE("verify twice: a capture that fails says so and nothing is compared") {
  StepOptions options = small(StepKind::xqa);
  options.faults.add(Fault::host_sync);
  const TwiceResult result = twice(options);
  CHECK(result.refused.find("cudaStreamSynchronize") != std::string::npos);
  CHECK_FALSE(result.report.was_checked("RF405"));
  CHECK(result.exit_code() == 1);
}
