// The engine where calls fail: no request is lost, no page leaks, and it serves on.
#include "runtime/failing_driver.hpp"
#include "runtime/host/host_driver.hpp"
#include "tests/runtime/engine/engine_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Three buckets a phase and no more: the loops below make hundreds of worlds.
ServingLimits tiny_limits() {
  ServingLimits limits = small_limits();
  limits.pages = 13;
  limits.decode_rows = 2;
  limits.prefill_tokens = 3;
  limits.prefill_requests = 2;
  limits.verify_requests = 1;
  limits.drafts = 2;
  return limits;
}

/// Calls that fail are no end: the next step tries again. How many failed.
int run_through(EngineWorld& w) {
  int failures = 0;
  for (bool more = true; more;) {
    try {
      more = w.engine->step();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::driver);
      REQUIRE(++failures < 50);
    }
  }
  return failures;
}

template <class Action>
int until_it_works(Action action) {
  for (int failures = 0;; ++failures) {
    REQUIRE(failures < 50);
    try {
      action();
      return failures;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::driver);
    }
  }
}

void submit_some(EngineWorld& w) {
  for (std::int32_t i = 0; i < 4; ++i) {
    Request request;
    for (std::int32_t k = 0; k < 5 + i; ++k) request.prompt.push_back(k % 3 + (i == 3 ? k % 2 : 0));
    request.max_tokens = 18 + i;
    request.temperature = i == 2 ? 1.0f : 0.0f;
    w.submit(request);
  }
}

/// One world whose N-th call fails: warm-up, serving, sleep and wake. False when it made fewer calls than that.
bool serve_with_failure(HostDriver& host, std::uint64_t at, bool syncs) {
  FailingDriver driver(host, at);
  std::unique_ptr<EngineWorld> w;
  until_it_works([&] { w = std::make_unique<EngineWorld>(driver, tiny_limits()); });
  if (syncs) w->model->syncs = [](const StepShape& s) { return s.rows == 2; };
  until_it_works([&] { (void)w->engine->warm_up(); });
  submit_some(*w);
  for (int i = 0; i < 6; ++i) {
    try {
      (void)w->engine->step();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::driver);
    }
  }
  until_it_works([&] { w->engine->sleep(); });
  until_it_works([&] { w->engine->wake(); });
  (void)run_through(*w);
  w->check_all();
  const EngineStats stats = w->engine->stats();
  CHECK(stats.finished.reasons == std::map<std::string, std::uint64_t, std::less<>>{{"length", 4}});
  // Each try is said, and each step is counted once.
  CHECK(stats.fallbacks.count <= w->fallbacks.size());
  CHECK(w->fallbacks.size() - stats.fallbacks.count <= stats.failed_launches);
  CHECK(host.census().captures == 0);
  CHECK(host.census().graphs == 0);
  return driver.failed();
}

}  // namespace

TEST_CASE("engine: every driver call may fail in warm-up and serving and sleep and no request is lost") {
  for (const bool syncs : {false, true}) {
    std::uint64_t at = 1;
    for (bool failed = true; failed; ++at) {
      INFO("call " << at);
      HostDriver host;
      failed = serve_with_failure(host, at, syncs);
      CHECK(host.census() == HostDriver::Census{});
    }
    CHECK(at > 150);
  }
}

TEST_CASE("engine: a launch that fails leaves every request and every page where it was") {
  HostDriver host;
  FailingDriver counting(host, 0);
  std::uint64_t calls = 0;
  {
    EngineWorld w(counting, tiny_limits());
    (void)w.engine->warm_up();
    submit_some(w);
    for (int i = 0; i < 8; ++i) REQUIRE(w.engine->step());
    calls = counting.calls();
  }
  FailingDriver failing(host, calls + 1);
  EngineWorld w(failing, tiny_limits());
  (void)w.engine->warm_up();
  submit_some(w);
  for (int i = 0; i < 8; ++i) REQUIRE(w.engine->step());
  const EngineStats before = w.engine->stats();
  CHECK_THROWS_AS(w.engine->step(), Error);
  const EngineStats after = w.engine->stats();
  CHECK(after.failed_launches == 1);
  CHECK(after.steps() == before.steps() + 1);  // the one that was in flight
  CHECK(after.pages_in_use <= before.pages_in_use + 1);
  CHECK(after.waiting + after.running == before.waiting + before.running);
  CHECK(run_through(w) == 0);
  w.check_all();
}

TEST_CASE("engine: pages that were taken for a launch that failed go back") {
  HostDriver host;
  FailingDriver counting(host, 0);
  std::uint64_t calls = 0;
  {
    EngineWorld w(counting, tiny_limits());
    (void)w.engine->warm_up();
    calls = counting.calls();
  }
  FailingDriver failing(host, calls + 1);
  EngineWorld w(failing, tiny_limits());
  (void)w.engine->warm_up();
  submit_some(w);
  CHECK_THROWS_AS(w.engine->step(), Error);
  CHECK(w.engine->stats().pages_in_use == 0);
  CHECK(w.engine->stats().pages_in_use_most == 1);
  CHECK(run_through(w) == 0);
  w.check_all();
}

TEST_CASE("engine: a step whose capture fails runs eagerly and is counted with its reason and loses nothing") {
  HostDriver host;
  EngineWorld w(host);
  w.model->syncs = [](const StepShape& s) { return s.phase == Phase::decode || s.query_length == 3; };
  const WarmUp warm = w.engine->warm_up();
  const std::size_t decodes = BucketPolicy::decode_rows(5).sizes().size();
  const std::size_t verifies = BucketPolicy::decode_rows(3).sizes().size();
  CHECK(warm.eager.size() == decodes + verifies);
  std::mt19937_64 random(9);
  for (int i = 0; i < 30; ++i) w.submit(random_request(random));
  w.run();
  w.check_all();
  const EngineStats stats = w.engine->stats();
  const PhaseStats& decode = stats.of(Phase::decode);
  CHECK(decode.steps > 0);
  CHECK(decode.replays == 0);
  CHECK(stats.of(Phase::prefill).replays == stats.of(Phase::prefill).steps);
  CHECK(stats.fallbacks.count >= decode.steps);
  CHECK(stats.fallbacks.count == w.fallbacks.size());
  CHECK(stats.coverage() < 1);
  REQUIRE(stats.fallbacks.reasons.size() == 1);
  CHECK(stats.fallbacks.reasons.begin()->first.find("cudaStreamSynchronize") != std::string::npos);
}

namespace {

/// Says that a launch of one op failed though it was carried out, as a late error of an earlier launch looks.
class LyingDriver final : public Driver {
 public:
  LyingDriver(Driver& inner, std::string op) : inner_(inner), op_(std::move(op)) {}
  [[nodiscard]] DeviceInfo device() const override { return inner_.device(); }
  [[nodiscard]] Status submit(Call& call) override {
    const Status status = inner_.submit(call);
    const bool named = call.api == Api::launch_kernel && call.op != nullptr && call.op->name == op_;
    return armed && named ? (++lies, Status::unknown) : status;
  }
  [[nodiscard]] Status introspect(GraphHandle graph, Introspection& out) override {
    return inner_.introspect(graph, out);
  }
  [[nodiscard]] Status identify(Address address, Buffer& out) override { return inner_.identify(address, out); }
  bool armed = false;
  int lies = 0;

 private:
  Driver& inner_;
  std::string op_;
};

}  // namespace

TEST_CASE("engine: an eager step that failed after its results were given is taken over and not run twice") {
  HostDriver host;
  LyingDriver lying(host, "ring_give");
  EngineWorld w(lying);
  w.model->syncs = [](const StepShape& s) { return s.phase != Phase::prefill; };
  (void)w.engine->warm_up();
  lying.armed = true;
  for (std::int32_t i = 0; i < 4; ++i) {
    Request request;
    request.prompt = {1, 2, i};
    request.max_tokens = 12;
    w.submit(request);
  }
  int failures = 0;
  for (bool more = true; more;) {
    try {
      more = w.engine->step();
    } catch (const Error& error) {
      CHECK(error.status() == static_cast<int>(Status::unknown));
      REQUIRE(++failures < 200);
    }
  }
  const EngineStats stats = w.engine->stats();
  CHECK(failures == lying.lies);
  CHECK(stats.failed_launches == static_cast<std::uint64_t>(lying.lies));
  CHECK(stats.of(Phase::decode).steps + stats.of(Phase::verify).steps == static_cast<std::uint64_t>(lying.lies));
  CHECK(stats.fallbacks.count == static_cast<std::uint64_t>(lying.lies));
  w.check_all();
}

TEST_CASE("engine: an eager step that failed before its results were given is run again") {
  HostDriver host;
  LyingDriver lying(host, "toy_next");
  EngineWorld w(lying);
  w.model->syncs = [](const StepShape& s) { return s.phase == Phase::decode; };
  (void)w.engine->warm_up();
  Request request;
  request.prompt = {1, 2, 3, 4, 5};
  request.max_tokens = 9;
  w.submit(request);
  int failures = 0;
  for (bool more = true; more;) {
    lying.armed = failures < 3;
    try {
      more = w.engine->step();
    } catch (const Error&) {
      ++failures;
    }
  }
  CHECK(failures == 3);
  w.check_all();
}
