// For N = 1, 2, ...: fail the N-th driver call of a whole run. Each must end in a
// clean Error or a failed capture that says so: no leak, no stream left capturing.
#include "runtime/failing_driver.hpp"
#include "runtime/host/host_driver.hpp"
#include "runtime/run.hpp"
#include "runtime/verify.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

RunOptions small_run(StepKind step) {
  RunOptions options;
  options.step.step = step;
  options.step.context = 24;
  options.replays = 2;
  options.poison = Poison::null_block;
  return options;
}

/// True when the whole job went through without a failure.
template <class Job>
bool survives(std::uint64_t fail_at, Job job) {
  HostDriver host;
  FailingDriver driver(host, fail_at);
  try {
    job(driver);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::driver);
    CHECK(error.status() == static_cast<int>(Status::memory_allocation));
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  }
  CHECK(host.census() == HostDriver::Census{});
  return !driver.failed();
}

template <class Job>
std::uint64_t fail_every_call(Job job) {
  std::uint64_t at = 1;
  while (!survives(at, job)) ++at;
  return at - 1;
}

}  // namespace

TEST_CASE("failures: every driver call of a run may fail, and nothing leaks or stays capturing") {
  for (const StepKind step : {StepKind::grouped, StepKind::xqa}) {
    const std::uint64_t tried = fail_every_call([&](Driver& driver) {
      const RunResult result = run_step(driver, small_run(step));
      if (!result.graph) CHECK_FALSE(result.refused.empty());
    });
    CHECK(tried > 40);
  }
}

TEST_CASE("failures: every driver call of a sparse MLA run may fail, and nothing leaks or stays capturing") {
  for (const StepKind step : {StepKind::mla_prefill, StepKind::mla_decode}) {
    RunOptions options = small_run(step);
    options.step.rows = step == StepKind::mla_prefill ? 65 : 2;
    options.step.heads = 8;
    options.step.topk = 64;
    const std::uint64_t tried = fail_every_call([&](Driver& driver) {
      const RunResult result = run_step(driver, options);
      if (!result.graph) CHECK_FALSE(result.refused.empty());
    });
    CHECK(tried > 30);
  }
}

TEST_CASE("failures: every driver call of a verify may fail, and nothing leaks or stays capturing") {
  const std::uint64_t tried = fail_every_call([](Driver& driver) {
    StepOptions options = small_run(StepKind::xqa).step;
    options.rows = 2;
    (void)verify_step(driver, options);
  });
  CHECK(tried > 100);
}

TEST_CASE("failures: an injected failure inside the capture is what the result names") {
  HostDriver counting_host;
  FailingDriver counter(counting_host, 0);
  (void)run_step(counter, small_run(StepKind::xqa));
  bool seen = false;
  for (std::uint64_t at = 1; at <= counter.calls(); ++at) {
    HostDriver host;
    FailingDriver driver(host, at);
    try {
      const RunResult result = run_step(driver, small_run(StepKind::xqa));
      if (result.graph) continue;
      seen = true;
      CHECK(result.refused.find("cudaErrorMemoryAllocation (2)") != std::string::npos);
    } catch (const Error&) {
    }
  }
  CHECK(seen);
}
