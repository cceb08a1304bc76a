// The engine one behaviour at a time, on the toy model.
#include "runtime/engine/engine.hpp"

#include "runtime/host/host_driver.hpp"
#include "tests/runtime/engine/engine_world.hpp"
#include "tests/runtime/engine/later_driver.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("engine: a warm-up captures every bucket of every phase and no step is eager after it") {
  HostDriver host;
  EngineWorld w(host);
  const WarmUp warm = w.engine->warm_up();
  // Prefill of 1 to 12 rows and decode of 1 to 5, each by the policy; verify of 2, 3 and 4 rows for 1 to 3 requests.
  const std::size_t prefills = BucketPolicy::prefill_tokens(12).sizes().size();
  const std::size_t decodes = BucketPolicy::decode_rows(5).sizes().size();
  const std::size_t verifies = 3 * BucketPolicy::decode_rows(3).sizes().size();
  CHECK(warm.ready == prefills + decodes + verifies);
  for (const auto& [key, reason] : warm.eager) {
    INFO(bucket_name(key) << ": " << reason);
    CHECK(false);
  }
  CHECK(w.model->loads == 1);
  std::size_t of_phase[3] = {};
  for (const StepShape& shape : w.model->recorded) ++of_phase[static_cast<std::size_t>(shape.phase)];
  CHECK(of_phase[0] == prefills);
  CHECK(of_phase[1] == decodes);
  CHECK(of_phase[2] == verifies);
  w.submit(greedy({1, 2, 3}, 10));
  w.run();
  w.check_all();
  CHECK(w.engine->stats().coverage() == 1.0);
  CHECK(w.engine->stats().captured_late == 0);
  CHECK(w.fallbacks.empty());
}

TEST_CASE("engine: a stop token or the end token ends an answer and is its last") {
  HostDriver host;
  EngineOptions options;
  options.eos = 4;
  EngineWorld w(host, small_limits(), options);
  (void)w.engine->warm_up();
  std::mt19937_64 random(7);
  for (int i = 0; i < 40; ++i) w.submit(random_request(random));
  w.run();
  w.check_all();
  const auto& finished = w.engine->stats().finished.reasons;
  for (const char* how : {"length", "stop", "failed"}) CHECK(finished.count(how) == 1);
}

TEST_CASE("engine: a row that can't be judged fails its request and no other") {
  HostDriver host;
  EngineWorld w(host);
  (void)w.engine->warm_up();
  w.submit(greedy({kUnjudged, 1, 2}, 12));
  w.submit(greedy({1, 2, 3}, 12));
  w.run();
  const std::vector<Completion> done = w.engine->take_completions();
  REQUIRE(done.size() == 2);
  CHECK(done[0].finish == Finish::failed);
  CHECK(done[0].tokens.size() == kUnjudgedFrom - 3);
  CHECK(done[1].finish == Finish::length);
}

TEST_CASE("engine: prefill takes turns with decode and short prompts share a chunk") {
  HostDriver host;
  EngineOptions options;
  options.drafts = false;
  EngineWorld w(host, small_limits(), options);
  (void)w.engine->warm_up();
  w.submit(greedy({1, 2, 3}, 20));
  w.submit(greedy({1, 2}, 20));
  REQUIRE(w.engine->step());  // both prompts in one chunk of 5 rows
  CHECK(w.engine->stats().running == 0);
  for (int i = 0; i < 2; ++i) w.submit(greedy(std::vector<std::int32_t>(26, 1), 2));
  std::vector<std::uint64_t> prefills, decodes;
  for (int i = 0; i < 6; ++i) {
    REQUIRE(w.engine->step());
    const EngineStats stats = w.engine->stats();
    prefills.push_back(stats.of(Phase::prefill).steps);
    decodes.push_back(stats.of(Phase::decode).steps);
  }
  // A step is counted when the next one looks: chunks and decodes of the two that run alternate.
  CHECK(prefills == std::vector<std::uint64_t>{1, 1, 2, 2, 3, 3});
  CHECK(decodes == std::vector<std::uint64_t>{0, 1, 1, 2, 2, 3});
  w.run();
  w.check_all();
}

TEST_CASE("engine: more requests than a decode step holds are served in turns") {
  HostDriver host;
  ServingLimits limits = small_limits();
  limits.decode_rows = 2;
  limits.pages = 60;
  EngineOptions options;
  options.drafts = false;
  EngineWorld w(host, limits, options);
  (void)w.engine->warm_up();
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(w.submit(greedy({1, 2, i}, 15)));
  while (w.engine->stats().running < 6) REQUIRE(w.engine->step());
  for (int i = 0; i < 9; ++i) REQUIRE(w.engine->step());
  std::size_t least = 100, most = 0;
  for (const std::uint64_t id : ids) {
    least = std::min(least, w.engine->answer(id).size());
    most = std::max(most, w.engine->answer(id).size());
  }
  CHECK(most - least <= 1 + 3);  // those that began first got a token in each turn between the chunks
  w.run();
  w.check_all();
}

TEST_CASE("engine: drafts of greedy requests are verified and give the same tokens in fewer steps") {
  HostDriver host;
  std::uint64_t steps[2];
  for (const bool drafts : {false, true}) {
    EngineOptions options;
    options.drafts = drafts;
    EngineWorld w(host, small_limits(), options);
    (void)w.engine->warm_up();
    w.submit(greedy({1, 2, 3, 1, 2, 3, 1, 2, 3}, 30));
    w.run();
    w.check_all();
    const EngineStats stats = w.engine->stats();
    steps[drafts] = stats.steps();
    CHECK((stats.drafted > 0) == drafts);
    CHECK((stats.accepted > 0) == drafts);
    CHECK((stats.of(Phase::verify).steps > 0) == drafts);
    CHECK(stats.tokens_out == 30);
  }
  CHECK(steps[true] < steps[false]);
}

TEST_CASE("engine: a full pool preempts the youngest and every request gets through") {
  HostDriver host;
  ServingLimits limits = small_limits();
  limits.pages = 13;  // 12 of 4 tokens: one request of 48 and no more
  EngineWorld w(host, limits);
  (void)w.engine->warm_up();
  for (int i = 0; i < 6; ++i) w.submit(greedy({i, 1, 2, 3, 4, 5, 6, 7, 1, i}, 30));
  w.run();
  const EngineStats stats = w.engine->stats();
  CHECK(stats.preemptions > 0);
  CHECK(stats.pages == 12);
  CHECK(stats.pages_in_use_most == 12);
  const std::vector<Completion> done = w.engine->take_completions();
  REQUIRE(done.size() == 6);
  CHECK(done.front().id == 1);  // the oldest is never preempted
  CHECK(done.front().preemptions == 0);
  for (const Completion& c : done) CHECK(c.tokens == toy_answer(w.requests.at(c.id), -1).tokens);
  CHECK(stats.pages_in_use == 0);
}

TEST_CASE("engine: a request is cancelled wherever it is and its pages go back at once") {
  HostDriver host;
  EngineWorld w(host);
  (void)w.engine->warm_up();
  const std::uint64_t waiting = w.submit(greedy(std::vector<std::int32_t>(20, 1), 5));
  CHECK(w.engine->cancel(waiting));
  CHECK_FALSE(w.engine->cancel(waiting));
  CHECK_FALSE(w.engine->cancel(99));
  const std::uint64_t half = w.submit(greedy(std::vector<std::int32_t>(20, 1), 5));
  REQUIRE(w.engine->step());  // 12 of its 20 tokens are in flight
  CHECK(w.engine->stats().pages_in_use == 3);
  CHECK(w.engine->cancel(half));
  CHECK(w.engine->stats().pages_in_use == 0);
  const std::uint64_t running = w.submit(greedy({1, 2, 3}, 15));
  for (int i = 0; i < 4; ++i) REQUIRE(w.engine->step());
  CHECK(w.engine->answer(running).size() >= 2);
  CHECK(w.engine->cancel(running));
  CHECK(w.engine->answer(running).empty());
  w.run();
  w.check_all();
  CHECK(w.engine->stats().finished.reasons.at("cancelled") == 3);
}

TEST_CASE("engine: in steady state a step is one graph launch and no other call") {
  HostDriver host;
  SequenceClock clock;
  RecordingDriver recording(host, clock);
  EngineWorld w(recording);
  (void)w.engine->warm_up();
  w.submit(greedy({1, 2, 3}, 3));
  w.run();
  const std::size_t before = recording.recording("all", w.registry).timeline.calls.size();
  const std::uint64_t steps_before = w.engine->stats().steps();
  std::mt19937_64 random(3);
  for (int i = 0; i < 30; ++i) {
    w.submit(random_request(random));
    (void)w.engine->step();
  }
  (void)w.engine->cancel(w.requests.rbegin()->first);
  w.run();
  w.check_all();
  const std::uint64_t steps = w.engine->stats().steps() - steps_before;
  const Recording all = recording.recording("all", w.registry);
  CHECK(steps > 50);
  CHECK(all.timeline.calls.size() - before == steps);
  for (std::size_t i = before; i < all.timeline.calls.size(); ++i)
    CHECK(all.timeline.calls[i].api == Api::graph_launch);
}

TEST_CASE("engine: a full ring holds the next step back until the device is done with one") {
  for (const std::uint32_t depth : {1u, 2u, 3u}) {
    HostDriver host;
    LaterDriver later(host);
    EngineOptions options;
    options.ring_depth = depth;
    EngineWorld w(later, small_limits(), options);
    (void)w.engine->warm_up();
    std::mt19937_64 random(depth);
    for (int i = 0; i < 60; ++i) w.submit(random_request(random));
    w.run();
    w.check_all();
    INFO("depth " << depth);
    CHECK(later.most() <= depth);
    CHECK((later.most() > 1) == (depth > 1));
    CHECK(w.engine->stats().coverage() == 1.0);
  }
}

TEST_CASE("engine: it sleeps in the middle and goes on after it as if nothing had been") {
  HostDriver host;
  LaterDriver later(host);
  for (Driver* driver : {static_cast<Driver*>(&host), static_cast<Driver*>(&later)}) {
    EngineWorld w(*driver);
    (void)w.engine->warm_up();
    std::mt19937_64 random(11);
    for (int round = 0; round < 4; ++round) {
      for (int i = 0; i < 8; ++i) w.submit(random_request(random));
      for (int i = 0; i < 7; ++i) (void)w.engine->step();
      w.engine->sleep();
      CHECK(w.arena.bytes_mapped() == 0);
      CHECK(w.engine->stats().pages_in_use == 0);
      CHECK(refusal_text([&] { (void)w.engine->step(); }).find("call wake() first") != std::string::npos);
      w.submit(random_request(random));  // it queues all the same
      w.engine->sleep();
      w.engine->wake();
      w.engine->wake();
      CHECK(w.model->loads == round + 2);
    }
    w.run();
    w.check_all();
    CHECK(w.engine->stats().coverage() == 1.0);
  }
}

TEST_CASE("engine: a step that is run once more eagerly gives the same and one that does not is counted") {
  HostDriver host;
  EngineOptions options;
  options.compare_every = 3;
  EngineWorld w(host, small_limits(), options);
  w.engine->warm_up();
  std::mt19937_64 random(7);
  for (int i = 0; i < 12; ++i) w.submit(random_request(random));
  w.run();
  w.check_all();
  const EngineStats clean = w.engine->stats();
  CHECK(clean.eager_checks == clean.steps() / 3);
  CHECK(clean.eager_checks > 0);
  CHECK(clean.eager_mismatches == 0);
  // The eager runs alone look a token too far; the replays do not.
  w.model->on_record = [&] { w.model->fault = ToyFault::long_length; };
  w.submit(greedy({1, 2, 3, 4, 5, 6}, 9));
  while (w.engine->step() && w.engine->stats().eager_mismatches == 0) w.model->fault = ToyFault::none;
  CHECK(w.engine->stats().eager_mismatches > 0);
}
