// What an engine refuses before it serves: requests, shapes, models and limits.
#include <limits>

#include "runtime/host/host_driver.hpp"
#include "tests/runtime/engine/engine_world.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("engine: requests that can never be served are refused with the reason and counted") {
  HostDriver host;
  ServingLimits limits = small_limits();
  limits.pages = 9;
  EngineWorld w(host, limits);
  const auto refused = [&](Request request) {
    return refusal_text([&] { (void)w.engine->submit(std::move(request)); });
  };
  CHECK(refused(greedy({}, 4)).find("the prompt is empty") != std::string::npos);
  CHECK(refused(greedy({1}, 0)).find("max_tokens 0; expected 1 or more") != std::string::npos);
  CHECK(refused(greedy({1, 2, kToyVocabulary}, 4)).find("token 9 at place 2 of the prompt") != std::string::npos);
  CHECK(refused(greedy({-1}, 4)).find("token -1 at place 0") != std::string::npos);
  CHECK(refused(greedy({1, 2}, 47)).find("2 prompt tokens and 47 to come are over the context of 48") !=
        std::string::npos);
  CHECK(refused(greedy({1, 2}, 32)).find("up to 9 pages of 4 tokens and the pool has 8") != std::string::npos);
  CHECK_NOTHROW(w.engine->submit(greedy({1, 2}, 31)));  // 32 tokens, for the last one is never looked at
  Request bad = greedy({1}, 4);
  bad.temperature = -1;
  CHECK(refused(bad).find("temperature of -1") != std::string::npos);
  bad.temperature = std::numeric_limits<float>::quiet_NaN();
  CHECK(refused(bad).find("temperature of nan") != std::string::npos);
  bad = greedy({1}, 4);
  bad.top_k = -2;
  CHECK(refused(bad).find("top_k -2") != std::string::npos);
  for (const float top_p : {0.0f, 1.5f, std::numeric_limits<float>::quiet_NaN()}) {
    bad = greedy({1}, 4);
    bad.top_p = top_p;
    CHECK(refused(bad).find("top_p") != std::string::npos);
  }
  bad = greedy({1}, 4);
  bad.stop = {77};
  CHECK(refused(bad).find("stop token 77") != std::string::npos);
  const EngineStats stats = w.engine->stats();
  CHECK(stats.submitted == 1);
  CHECK(stats.refusals.count == 13);
  CHECK(stats.refusals.reasons.at("sampling values") == 6);
  CHECK(stats.refusals.reasons.at("over the pool") == 1);
}

TEST_CASE("engine: a shape that the model does not admit is refused before anything is captured") {
  HostDriver host;
  EngineWorld w(host);
  w.model->refuses = [](const StepShape& s) {
    return s.phase == Phase::verify && s.query_length == 3 ? "no more than one draft" : "";
  };
  const std::string text = refusal_text([&] { (void)w.engine->warm_up(); });
  CHECK(text == "engine: serving toy: verify of 1 requests, 3 rows each: no more than one draft");
  CHECK(w.model->recorded.empty());
  CHECK(w.model->loads == 0);
}

TEST_CASE("engine: a model whose key does not tell two shapes apart is refused") {
  HostDriver host;
  EngineWorld w(host);
  w.model->keys_alike = true;
  CHECK(refusal_text([&] { (void)w.engine->warm_up(); }).find("Model::key must tell them apart") != std::string::npos);
}

TEST_CASE("engine: limits that no server can have and steps before the warm-up are refused") {
  HostDriver host;
  ServingLimits limits = small_limits();
  limits.decode_rows = 0;
  CHECK(refusal_text([&] { EngineWorld w(host, limits); }).find("decode_rows is 0; expected 1 or more") !=
        std::string::npos);
  EngineWorld w(host);
  CHECK(refusal_text([&] { (void)w.engine->step(); }).find("call warm_up() first") != std::string::npos);
  CHECK(refusal_text([&] { w.engine->sleep(); }).find("call warm_up() first") != std::string::npos);
  CHECK_THROWS_AS(Engine(w.bench(), *w.model, EngineOptions{}), Error);  // it could fall back in silence
}
