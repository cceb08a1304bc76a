// Every bucket at every count of pads: clean on healthy steps, and each way in which a
// pad row could do harm is seen. A driver that spoils what is read after a replay shows
// that the comparison itself looks everywhere.
#include "runtime/verify_buckets.hpp"

#include "runtime/failing_driver.hpp"
#include "runtime/host/host_driver.hpp"
#include "runtime/steps/attention/inputs.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

StepOptions small(StepKind step, std::int32_t rows) {
  StepOptions options;
  options.step = step;
  options.rows = rows;
  options.context = 41;
  return options;
}

BucketsResult verify(const StepOptions& options) {
  const auto driver = test::make_test_driver();
  BucketsResult result = verify_all_buckets(*driver, options);
  CHECK(test::holds_nothing(*driver));
  return result;
}

void check_clean(const BucketsResult& result) {
  const BucketVerdict* failed = result.first_failure();
  INFO(to_string(result.options.step) << (failed != nullptr ? ": " + failed->failure : ""));
  CHECK(failed == nullptr);
  CHECK(result.exit_code() == 0);
}

std::string failure_with(Fault fault, StepKind step, std::int32_t rows) {
  StepOptions options = small(step, rows);
  options.faults.add(fault);
  const BucketsResult result = verify(options);
  CHECK(result.exit_code() == 1);
  return result.first_failure() != nullptr ? result.first_failure()->failure : "none";
}

}  // namespace

TEST_CASE("verify buckets: healthy steps are clean in every bucket at every count of pads and with one graph each") {
  for (const StepKind step : {StepKind::xqa, StepKind::grouped})
    for (const Dtype kv : {Dtype::e4m3, Dtype::bf16}) {
      StepOptions options = small(step, 18);
      options.kv = kv;
      options.requests = 3;
      const BucketsResult result = verify(options);
      check_clean(result);
      REQUIRE(result.buckets.size() == 12);  // 1 to 6, 8 to 16 by two, and 18
      for (const BucketVerdict& bucket : result.buckets) {
        CHECK(bucket.graphs == 1);  // the count of real rows is data
        CHECK(bucket.pad_counts == bucket.rows - bucket.fewest_rows + 1);
      }
      CHECK(result.buckets.front().fewest_rows == 1);
      CHECK(result.buckets[1].fewest_rows == 1);       // one row of two may be a pad
      CHECK(result.buckets.back().fewest_rows == 16);  // 2 pads on 16 rows are 12.5 %
    }
}

TEST_CASE("verify buckets: sparse MLA steps are clean in every bucket with one graph each") {
  for (const StepKind step : {StepKind::mla_prefill, StepKind::mla_decode}) {
    StepOptions options = small(step, 4);
    options.topk = 64;
    const BucketsResult result = verify(options);
    check_clean(result);
    REQUIRE(result.buckets.size() == 4);
    for (const BucketVerdict& bucket : result.buckets) CHECK(bucket.graphs == 1);
  }
}

TEST_CASE("verify buckets: draft verifications are padded by whole requests") {
  StepOptions options = small(StepKind::mtp_verify, kByStep);
  options.kv = Dtype::fp16;
  options.drafts = 2;
  options.requests = 4;
  const BucketsResult result = verify(options);
  check_clean(result);
  std::vector<std::int32_t> rows;
  for (const BucketVerdict& bucket : result.buckets) rows.push_back(bucket.rows);
  CHECK(rows == std::vector<std::int32_t>{3, 6, 9, 12});
  CHECK(result.buckets.back().fewest_rows == 9);
}

TEST_CASE("verify buckets: the largest bucket is the step's rows or 24 unless it is said") {
  StepOptions options = small(StepKind::xqa, kByStep);
  options.context = 5;
  CHECK(verify(options).buckets.back().rows == 24);
  options = small(StepKind::mtp_verify, kByStep);
  options.kv = Dtype::fp16;
  CHECK(verify(options).buckets.back().rows == 25);  // five requests of five rows are the first that hold 24
}

TEST_CASE("verify buckets: options that can't be met are refused in words of the command line") {
  const auto driver = test::make_test_driver();
  StepOptions options = small(StepKind::xqa, 4);
  options.bucket = 5;
  CHECK_THROWS_WITH(verify_all_buckets(*driver, options), Catch::Contains("--bucket") && Catch::Contains("--rows"));
  options = small(StepKind::mtp_verify, 11);
  CHECK_THROWS_WITH(verify_all_buckets(*driver, options), Catch::Contains("expected a multiple of 5, found 11"));
  CHECK_THROWS_WITH(verify_all_buckets(*driver, small(StepKind::xqa, 0)), Catch::Contains("--rows"));
  options = small(StepKind::xqa, 4);
  options.faults.add(Fault::pad_fix_off);
  CHECK_THROWS_WITH(verify_all_buckets(*driver, options), Catch::Contains("does not fit step xqa_decode"));
}

TEST_CASE("verify buckets: each fault of pad rows is named in the first bucket that has pads") {
  CHECK(failure_with(Fault::pad_rows_unwritten, StepKind::xqa, 3).find("1 row and 1 pad, capture: RF308") == 0);
  CHECK(failure_with(Fault::null_block_written, StepKind::xqa, 3).find("1 row and 1 pad, capture: RF310") == 0);
  CHECK(failure_with(Fault::stale_padding, StepKind::grouped, 3).find("1 row and 1 pad, capture: RF311") == 0);
  CHECK(failure_with(Fault::pad_rows_unwritten, StepKind::grouped, 18).find("RF308") != std::string::npos);
}

TEST_CASE("verify buckets: other faults are named by their call or their rule and at the replay that shows them") {
  CHECK(failure_with(Fault::host_sync, StepKind::xqa, 2).find("1 row and 0 pads, capture: cudaStreamSynchronize") == 0);
  CHECK(failure_with(Fault::stale_pointer, StepKind::xqa, 2).find("1 row and 0 pads, capture: RF401") == 0);
  CHECK(failure_with(Fault::input_rebound, StepKind::xqa, 2).find("1 row and 0 pads, first replay: RF406") == 0);
  CHECK(failure_with(Fault::pad_fix_off, StepKind::grouped, 9).find("7 rows and 1 pad, capture: RF304") == 0);
}

TEST_CASE("verify buckets: a bucket that fails does not end the others") {
  StepOptions options = small(StepKind::xqa, 4);
  options.faults.add(Fault::null_block_written);
  const BucketsResult result = verify(options);
  REQUIRE(result.buckets.size() == 4);
  CHECK(result.buckets[0].failure.empty());  // one row is never padded
  for (std::size_t i = 1; i < 4; ++i) CHECK_FALSE(result.buckets[i].failure.empty());
}

namespace {

/// Once a graph was launched, flips a bit at `offset` of what is read back in one piece of `bytes`.
class SpoilingDriver final : public Driver {
 public:
  SpoilingDriver(Driver& inner, std::uint64_t bytes, std::uint64_t offset)
      : inner_(inner), bytes_(bytes), offset_(offset) {}
  DeviceInfo device() const override { return inner_.device(); }
  Status submit(Call& call) override {
    const Status status = inner_.submit(call);
    if (call.api == Api::graph_launch) launched_ = true;
    const bool read = call.source_space == MemorySpace::device && call.space == MemorySpace::pageable;
    if (launched_ && read && call.bytes == bytes_) reinterpret_cast<std::uint8_t*>(call.address)[offset_] ^= 1;
    if (call.api == Api::graph_exec_destroy) launched_ = false;
    return status;
  }
  Status introspect(GraphHandle graph, Introspection& out) override { return inner_.introspect(graph, out); }
  Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }

 private:
  Driver& inner_;
  std::uint64_t bytes_, offset_;
  bool launched_ = false;
};

std::string failure_when_spoiled(std::uint64_t bytes, std::uint64_t offset) {
  HostDriver host;
  SpoilingDriver driver(host, bytes, offset);
  const BucketsResult result = verify_all_buckets(driver, small(StepKind::xqa, 2));
  CHECK(result.buckets.at(0).failure.empty());  // its reads have other sizes
  return result.buckets.at(1).failure;
}

}  // namespace

TEST_CASE("verify buckets: one bit in a real row or a pad row of any output is seen") {
  const std::uint64_t row = kHeads * kHeadDim * 2, lse_row = kHeads * 4;
  CHECK(failure_when_spoiled(2 * row, 10) ==
        "1 row and 1 pad, no poison: row 0 of out is not what the eager run gives");
  CHECK(failure_when_spoiled(2 * row, row) ==
        "1 row and 1 pad, no poison: row 1 of out, a pad row, is not what the eager run gives");
  CHECK(failure_when_spoiled(2 * lse_row, lse_row + 4) ==
        "1 row and 1 pad, no poison: row 1 of lse, a pad row, is not what the eager run gives");
}

TEST_CASE("verify buckets: one bit of the KV pool that no real row appended or one that it did is seen") {
  const KvPoolView pool = pool_shape(default_options(small(StepKind::xqa, 2)));
  const auto spoiled = [&](std::uint64_t offset) {
    HostDriver host;
    SpoilingDriver driver(host, pool.bytes(), offset);
    return verify_all_buckets(driver, small(StepKind::xqa, 2)).buckets.at(0).failure;
  };
  CHECK(spoiled(7) == "1 row and 0 pads, no poison: byte 7 of the KV pool is written, and by no real row");
  // The row is token 40 of 41: the ninth of the second page of 32, and the first request has pages 1 and 2.
  const auto appended = static_cast<std::uint64_t>(pool.k_offset(2, 8, 0));
  CHECK(spoiled(appended).find("of the KV pool is not what the eager run appends") != std::string::npos);
}

TEST_CASE("verify buckets: every driver call may fail and nothing leaks") {
  std::uint64_t at = 1;
  for (bool failed = true; failed; ++at) {
    HostDriver host;
    FailingDriver driver(host, at);
    try {
      StepOptions options = small(StepKind::xqa, 2);
      options.context = 5;
      const BucketsResult result = verify_all_buckets(driver, options);
      if (driver.failed() && result.exit_code() != 0)
        CHECK(result.first_failure()->failure.find("(2)") != std::string::npos);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::driver);
    }
    CHECK(host.census() == HostDriver::Census{});
    failed = driver.failed();
  }
  CHECK(at > 100);
}
