// An arena that sleeps gives its memory back and keeps its addresses: graphs replay
// afterwards, once what was lost is written again, and the audit sees when it is not.
#include <set>

#include "audit/audit.hpp"
#include "graphs/error.hpp"
#include "runtime/failing_driver.hpp"
#include "runtime/host/host_driver.hpp"
#include "runtime/session.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

StepOptions small_decode() {
  StepOptions o;
  o.step = StepKind::xqa;
  o.rows = 5;
  o.context = 70;
  return o;
}

struct Slept {
  explicit Slept(Driver& driver)
      : session(driver, small_decode()),
        recorder(session.driver, session.registry, session.stream),
        captured(session.capture(recorder, error)) {
    REQUIRE(captured);
    exec.emplace(session.driver, session.arena, *captured, session.stream);
  }

  Output replay() {
    exec->launch(session.stream);
    check(session.driver.synchronize(session.stream), "synchronize");
    return read_output(session.driver, session.step->outputs());
  }

  std::set<std::string> errors() {
    const Subject subject{{session.recording()}};
    const Report report = audit(subject);
    std::set<std::string> rules;
    for (const Finding& finding : report.findings())
      if (finding.severity == Severity::error) rules.insert(finding.rule);
    return rules;
  }

  Session session;
  Recorder recorder;
  std::string error;
  std::optional<Captured> captured;
  std::optional<GraphExec> exec;
};

}  // namespace

TEST_CASE("arena sleep: memory goes and comes back at the same addresses and the graph replays to the same bits") {
  const auto driver = test::make_test_driver();
  {
    Slept s(*driver);
    const Output before = s.replay();
    const std::uint64_t mapped = s.session.arena.bytes_mapped();
    CHECK(mapped > 0);
    CHECK(mapped % Driver::kMapGranularity == 0);
    s.session.arena.sleep();
    CHECK(s.session.arena.bytes_mapped() == 0);
    s.session.arena.wake();
    CHECK(s.session.arena.bytes_mapped() == mapped);
    s.session.step->upload(s.session.driver);
    s.session.step->prepare(s.recorder);
    CHECK(same_bits(before, s.replay()));
    CHECK(s.errors().empty());
  }
  CHECK(test::holds_nothing(*driver));
}

TEST_CASE("arena sleep: a replay of what was lost and not written again is RF306") {
  const auto driver = test::make_test_driver();
  Slept s(*driver);
  (void)s.replay();
  s.session.arena.sleep();
  s.session.arena.wake();
  (void)s.replay();
  CHECK(s.errors() == std::set<std::string>{"RF306"});
}

TEST_CASE("arena sleep: while it sleeps no graph is launched and nothing is leased") {
  const auto driver = test::make_test_driver();
  Slept s(*driver);
  s.session.arena.sleep();
  CHECK(s.session.arena.asleep());
  CHECK_THROWS_AS(s.exec->launch(s.session.stream), Error);
  CHECK_THROWS_AS(s.session.arena.lease({"more", 1, Role::scratch, Dtype::u8}), Error);
  s.session.arena.wake();
  CHECK_FALSE(s.session.arena.asleep());
}

TEST_CASE("arena sleep: every call of it may fail and it sleeps and wakes all the same when asked again") {
  std::uint64_t failures = 0;
  for (std::uint64_t at = 1, before = 0; at == 1 || failures > before; ++at) {
    before = failures;
    HostDriver host;
    {
      FailingDriver driver(host, at);
      std::optional<Arena> arena;
      SequenceClock clock;
      BufferRegistry registry{clock};
      std::vector<Lease> leases;
      const auto again = [&](auto action) {
        try {
          action();
        } catch (const Error&) {
          ++failures;
          action();
        }
      };
      again([&] { arena.emplace(driver, registry, 16 * Driver::kMapGranularity); });
      for (int i = 0; i < 3; ++i)
        again([&] { leases.push_back(arena->lease({"piece", Driver::kMapGranularity, Role::scratch, Dtype::u8})); });
      again([&] { arena->sleep(); });
      CHECK(arena->bytes_mapped() == 0);
      again([&] { arena->wake(); });
      for (const Lease& lease : leases) *lease.as<std::uint8_t>() = 1;  // there is memory behind each
      leases.clear();
    }
    CHECK(host.census() == HostDriver::Census{});
  }
  CHECK(failures > 8);
}
