// Random schedules: whatever arrives, is cancelled or does not fit, each request gets the
// tokens that it would get alone.
#include "runtime/failing_driver.hpp"
#include "runtime/host/host_driver.hpp"
#include "tests/runtime/engine/engine_world.hpp"
#include "tests/runtime/engine/later_driver.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Requests come and are cancelled at random steps; then all is served.
void play(EngineWorld& w, std::mt19937_64& random) {
  const std::size_t requests = 1 + random() % 12;
  const std::uint64_t hurry = 1 + random() % 6;
  std::vector<std::uint64_t> ids;
  while (ids.size() < requests) {
    if (random() % hurry == 0) ids.push_back(w.submit(random_request(random)));
    if (!ids.empty() && random() % 12 == 0) (void)w.engine->cancel(ids[random() % ids.size()]);
    (void)w.engine->step();
  }
  for (std::uint64_t left = random() % 40; left > 0; --left) (void)w.engine->step();
  if (random() % 4 == 0) (void)w.engine->cancel(ids.back());
  w.run();
  w.check_all();
}

struct Setting {
  const char* name;
  std::int32_t pages, page_size;
  bool drafts;
  std::uint32_t depth;
  std::int32_t decode_rows, prefill_tokens, prefill_requests;
};

const Setting kSettings[] = {
    {"plenty", 200, 4, false, 2, 5, 12, 3},
    {"plenty with drafts", 200, 4, true, 2, 5, 12, 3},
    {"one request's pages", 13, 4, false, 2, 5, 12, 3},
    {"one request's pages with drafts", 13, 4, true, 2, 5, 12, 3},
    {"pages of one token", 60, 1, true, 2, 5, 7, 2},
    {"narrow steps", 40, 3, true, 1, 2, 3, 1},
    {"wide steps", 5, 16, true, 2, 9, 30, 8},
    {"deep ring", 25, 4, true, 4, 4, 8, 2},
};

EngineWorld* make_world(Driver& driver, const Setting& s) {
  ServingLimits limits = small_limits();
  limits.pages = s.pages;
  limits.decode_rows = s.decode_rows;
  limits.prefill_tokens = s.prefill_tokens;
  limits.prefill_requests = s.prefill_requests;
  EngineOptions options;
  options.drafts = s.drafts;
  options.ring_depth = s.depth;
  return new EngineWorld(driver, limits, options, s.page_size);
}

}  // namespace

TEST_CASE("engine: 1000 random schedules give every request the tokens that it gets alone") {
  std::mt19937_64 random(Catch::rngSeed() + 1);
  INFO("seed " << Catch::rngSeed());
  for (const Setting& setting : kSettings) {
    INFO(setting.name);
    HostDriver host;
    const std::unique_ptr<EngineWorld> w(make_world(host, setting));
    (void)w->engine->warm_up();
    for (int i = 0; i < 125; ++i) play(*w, random);
    const EngineStats stats = w->engine->stats();
    CHECK(stats.coverage() == 1.0);
    CHECK((stats.accepted > 0) == setting.drafts);
    CHECK((stats.preemptions > 0) == (setting.pages < 200));
    CHECK(stats.drafted >= stats.accepted);
  }
}

TEST_CASE("engine: random schedules on a device that is late give the same tokens") {
  std::mt19937_64 random(Catch::rngSeed() + 2);
  for (const std::size_t at : {1u, 3u, 7u}) {
    INFO(kSettings[at].name);
    HostDriver host;
    LaterDriver later(host);
    const std::unique_ptr<EngineWorld> w(make_world(later, kSettings[at]));
    (void)w->engine->warm_up();
    for (int i = 0; i < 12; ++i) play(*w, random);
    CHECK(later.most() == kSettings[at].depth);
  }
}

TEST_CASE("engine: requests one at a time and all at once give the same tokens") {
  HostDriver host;
  std::mt19937_64 random(Catch::rngSeed() + 3);
  std::vector<Request> requests;
  for (int i = 0; i < 30; ++i) requests.push_back(random_request(random));
  std::map<std::uint64_t, std::vector<std::int32_t>> answers[2];
  for (const bool together : {false, true}) {
    EngineWorld w(host);
    (void)w.engine->warm_up();
    for (const Request& request : requests) {
      (void)w.engine->submit(request);
      if (!together) w.run();
    }
    w.run();
    for (Completion& done : w.engine->take_completions()) answers[together][done.id] = std::move(done.tokens);
  }
  CHECK(answers[0].size() == 30);
  CHECK(answers[0] == answers[1]);
}

TEST_CASE("engine: under a byte budget for few graphs they are captured again and the tokens are the same") {
  HostDriver host;
  EngineOptions options;
  options.byte_budget = 4 * 4 * kGraphBytesPerNode;
  EngineWorld w(host, small_limits(), options);
  const WarmUp warm = w.engine->warm_up();
  CHECK(warm.ready == 4);
  std::mt19937_64 random(5);
  for (int i = 0; i < 20; ++i) w.submit(random_request(random));
  w.run();
  w.check_all();
  CHECK(w.engine->stats().captured_late > 0);
  CHECK(w.engine->stats().coverage() == 1.0);
  CHECK(w.engine->cache_stats().evictions.count > 0);
}

TEST_CASE("engine: the toy model sees a token that is lost and a wrong page and a wrong length and a stale row") {
  for (const ToyFault fault : {ToyFault::none, ToyFault::lost_token, ToyFault::wrong_page, ToyFault::long_length,
                               ToyFault::stale_sample_row}) {
    HostDriver host;
    EngineWorld w(host);
    w.model->fault = fault;
    (void)w.engine->warm_up();
    std::mt19937_64 random(6);
    for (int i = 0; i < 20; ++i) w.submit(random_request(random));
    w.run();
    std::size_t wrong = 0;
    for (const Completion& done : w.engine->take_completions())
      if (done.tokens != toy_answer(w.requests.at(done.id), -1).tokens) ++wrong;
    INFO("fault " << static_cast<int>(fault) << ": " << wrong << " wrong, " << w.model->complaints << " complaints");
    CHECK((wrong > 0 || w.model->complaints > 0) == (fault != ToyFault::none));
  }
}
