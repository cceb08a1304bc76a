// Replay checks of the sparse MLA steps: clean over formats, pages, rows, contexts,
// top-k, heads and sinks, with every axis there.
#include <algorithm>
#include <set>

#include "runtime/verify.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

struct Format {
  MlaRecord record;
  std::int32_t page_size;
};
constexpr Format kFormats[] = {
    {MlaRecord::e4m3_584, 256}, {MlaRecord::e4m3_584, 64}, {MlaRecord::e4m3_656, 64}, {MlaRecord::bf16, 64}};

StepOptions step_of(std::int32_t rows, std::int32_t context, Format format, std::int32_t topk = 64) {
  StepOptions options;
  options.step = StepKind::mla_prefill;
  options.rows = rows;
  options.context = context;
  options.record = format.record;
  options.page_size = format.page_size;
  options.heads = 8;
  options.topk = topk;
  return options;
}

void check_clean(const StepOptions& options) {
  const auto driver = test::make_test_driver();
  const VerifyResult result = verify_step(*driver, options);
  CHECK(test::holds_nothing(*driver));
  INFO(to_string(options.step) << " " << describe(result.options));
  CHECK(result.axes.size() >= 20);
  for (const AxisResult& axis : result.axes) {
    INFO(axis.name << " " << axis.fill);
    CHECK(axis.finite);
    CHECK(axis.bit_equal);
    CHECK(axis.max_abs_error.value_or(0.0) == 0.0);
  }
  CHECK(result.report.findings().empty());
  CHECK(result.exit_code() == 0);
}

}  // namespace

TEST_CASE("mla verify: every format is clean at contexts around a page and a chunk") {
  for (const Format format : kFormats)
    for (const std::int32_t context : {1, 63, 64, 65, 256, 257, 700}) {
      StepOptions options = step_of(3, context, format, 128);
      options.step = StepKind::mla_decode;
      options.bucket = 5;
      options.sinks = context % 2 == 0;
      check_clean(options);
    }
}

TEST_CASE("mla verify: an empty context is clean") {
  for (const Format format : kFormats) check_clean(step_of(3, 0, format));
}

TEST_CASE("mla verify: rows around the change of route are clean with pads and without") {
  for (const Format format : kFormats)
    for (const std::int32_t rows : {1, 3, 8, 64, 65, 80})
      for (const std::int32_t pads : {0, 3}) {
        StepOptions options = step_of(rows, 257, format);
        options.bucket = rows + pads;
        options.requests = std::min(rows, 3);
        check_clean(options);
      }
}

TEST_CASE("mla verify: every top-k is clean with sinks and without") {
  for (const Format format : kFormats)
    for (const std::int32_t topk : {64, 512, 2048})
      for (const bool sinks : {false, true}) {
        StepOptions options = step_of(6, 700, format, topk);
        options.step = StepKind::mla_decode;
        options.sinks = sinks;
        check_clean(options);
      }
}

TEST_CASE("mla verify: every number of heads is clean") {
  for (const std::int32_t heads : {8, 16, 64})
    for (const Format format : {kFormats[0], kFormats[3]}) {
      StepOptions options = step_of(4, 200, format, 128);
      options.heads = heads;
      options.sinks = true;
      check_clean(options);
    }
}

TEST_CASE("mla verify: every axis of the matrix is there") {
  const auto names = [](std::int32_t rows, Format format) {
    StepOptions options = step_of(rows, 300, format);
    options.bucket = rows + 2;
    std::set<std::string> out;
    for (const AxisResult& axis : verify_step(*test::make_test_driver(), options).axes) out.insert(axis.name);
    return out;
  };
  std::set<std::string> expected = {
      "fresh memory",      "repeat",     "eager",        "pad rows", "pad tables",
      "null block",        "page tails", "unused pages", "output",   "indices past length",
      "unattended records"};
  CHECK(names(65, kFormats[3]) == expected);
  expected.merge(std::set<std::string>{"partials", "split LSE"});
  CHECK(names(8, kFormats[2]) == expected);
  expected.merge(std::set<std::string>{"scratch page 0", "scratch"});
  CHECK(names(8, kFormats[0]) == expected);
}
