// An engine over the toy model, with all that it stands on.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>

#include "runtime/engine/engine.hpp"
#include "runtime/owned_stream.hpp"
#include "runtime/recording_driver.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/engine/toy_model.hpp"

namespace refrain::test {

[[nodiscard]] inline ServingLimits small_limits() {
  ServingLimits limits;
  limits.context = 48;
  limits.pages = 30;
  limits.decode_rows = 5;
  limits.prefill_tokens = 12;
  limits.prefill_requests = 3;
  limits.verify_requests = 3;
  limits.drafts = 3;
  return limits;
}

struct EngineWorld {
  explicit EngineWorld(Driver& of, ServingLimits limits = small_limits(), EngineOptions options = {},
                       std::int32_t page_size = 4)
      : driver(of) {
    model = std::make_unique<ToyModel>(arena, registry, limits, page_size);
    eos = options.eos;
    if (!options.on_fallback)
      options.on_fallback = [this](const StepKey& key, const std::string& reason) {
        fallbacks.emplace_back(bucket_name(key), reason);
      };
    engine = std::make_unique<Engine>(bench(), *model, std::move(options));
  }
  [[nodiscard]] CaptureBench bench() { return {driver, clock, registry, arena, stream}; }

  /// Submits, and keeps what is due.
  std::uint64_t submit(const Request& request) {
    const std::uint64_t id = engine->submit(request);
    requests[id] = request;
    return id;
  }
  void run() {
    while (engine->step()) {
    }
  }
  /// Every request that was submitted has ended as the plain loop over its prompt does; a cancelled one with the
  /// beginning of that. Nothing is held any more.
  void check_all() {
    for (Completion& done : engine->take_completions()) {
      REQUIRE(requests.contains(done.id));
      const ToyAnswer due = toy_answer(requests.at(done.id), eos);
      INFO("request " << done.id);
      if (done.finish == Finish::cancelled) {
        REQUIRE(done.tokens.size() <= due.tokens.size());
        CHECK(std::equal(done.tokens.begin(), done.tokens.end(), due.tokens.begin()));
      } else {
        CHECK(done.tokens == due.tokens);
        CHECK(done.finish == due.finish);
      }
      requests.erase(done.id);
    }
    CHECK(requests.empty());
    CHECK(engine->idle());
    CHECK(engine->stats().pages_in_use == 0);
    CHECK(model->complaints == 0);
  }

  Driver& driver;
  SequenceClock clock;
  BufferRegistry registry{clock};
  Arena arena{driver, registry, 1 << 20};
  OwnedStream stream{driver};
  std::int32_t eos = -1;
  std::unique_ptr<ToyModel> model;
  std::unique_ptr<Engine> engine;
  std::map<std::uint64_t, Request> requests;
  std::vector<std::pair<std::string, std::string>> fallbacks;
};

[[nodiscard]] inline Request greedy(std::vector<std::int32_t> prompt, std::int32_t max_tokens) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  return request;
}

/// What the action is refused with: one line.
[[nodiscard]] inline std::string refusal_text(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::refused);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  FAIL("it was not refused");
  return "";
}

/// Fits small_limits().
[[nodiscard]] inline Request random_request(std::mt19937_64& random) {
  const auto up_to = [&](std::uint64_t most) { return static_cast<std::int32_t>(random() % (most + 1)); };
  Request request;
  const std::int32_t length = 1 + up_to(27);
  for (std::int32_t i = 0; i < length; ++i) request.prompt.push_back(up_to(kToyVocabulary - 1));
  if (request.prompt[0] == kUnjudged && up_to(3) != 0) request.prompt[0] = 0;
  request.max_tokens = 1 + up_to(19);
  request.seed = random();
  if (up_to(3) == 0) {
    request.temperature = 0.5f + static_cast<float>(up_to(3));
    request.top_k = up_to(5);
    request.top_p = up_to(1) == 0 ? 1.0f : 0.9f;
  }
  if (up_to(5) == 0) request.stop.push_back(up_to(kToyVocabulary - 1));
  return request;
}

}  // namespace refrain::test
