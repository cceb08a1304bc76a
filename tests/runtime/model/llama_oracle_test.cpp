// The decoder's three phases against an fp64 decoder that knows no pages, splits or batches.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/runtime/model/llama_cases.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

void require_near(const std::vector<float>& logits, const std::vector<double>& oracle, Dtype kv) {
  REQUIRE(distance(logits, oracle, kv) <= 1);
}

/// The three prompts in two chunks, the second request cut between them.
void check_prefill(LlamaWorld& world, const LlamaOracle& oracle, std::vector<ModelRequest>& r, Dtype kv) {
  const std::int32_t vocab = world.model().vocabulary();
  const ModelResult first = world.prefill({{&r[0], 17}, {&r[1], 5}}, 25, 3);
  require_near(first.logits[0], oracle.logits(r[0].tokens).back(), kv);
  CHECK(first.next[0] == largest(first.logits[0]));
  CHECK(first.next[1] == -1);  // its prompt goes on
  CHECK(first.next[2] == -1);  // a pad
  const ModelResult second = world.prefill({{&r[1], 21}, {&r[2], 1}}, 22, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    require_near(second.logits[i], oracle.logits(r[1 + i].tokens).back(), kv);
    CHECK(second.next[i] == largest(second.logits[i]));
  }
  r[0].tokens.push_back(first.next[0]);
  r[1].tokens.push_back(second.next[0]);
  r[2].tokens.push_back(second.next[1]);
  for (const ModelRequest& request : r) REQUIRE((request.tokens.back() >= 0 && request.tokens.back() < vocab));
}

void check_decode(LlamaWorld& world, const LlamaOracle& oracle, std::vector<ModelRequest>& r, Dtype kv) {
  for (std::int32_t rows = 3; rows <= 5; ++rows) {
    const ModelResult step = world.decode({&r[2], &r[0], &r[1]}, rows);
    ModelRequest* order[] = {&r[2], &r[0], &r[1]};
    for (std::size_t i = 0; i < 3; ++i) {
      require_near(step.logits[i], oracle.logits(order[i]->tokens).back(), kv);
      CHECK(step.next[i] == largest(step.logits[i]));
      order[i]->tokens.push_back(step.next[i]);
    }
    for (std::size_t pad = 3; pad < static_cast<std::size_t>(rows); ++pad) CHECK(step.next[pad] == -1);
  }
}

/// The first request's first draft is right and its second wrong; the second has one draft, that is wrong; the third
/// none.
void check_verify(LlamaWorld& world, const LlamaOracle& oracle, std::vector<ModelRequest>& r, Dtype kv) {
  const std::int32_t vocab = world.model().vocabulary();
  ModelRequest ahead = r[0];  // on the same pages: what it appends is written again below
  const std::int32_t right = world.decode({&ahead}, 1).next[0];
  const std::int32_t wrong = (world.decode({&r[1]}, 1).next[0] + 1) % vocab;
  --r[1].cached;
  const std::vector<Feed> feeds = {{&r[0], 1, {right, (right + 1) % vocab, 5}}, {&r[1], 1, {wrong}}, {&r[2], 1, {}}};
  const ModelResult step = world.verify(feeds, 4, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<std::int32_t> tokens = feeds[i].request->tokens;
    const std::size_t known = tokens.size();
    tokens.insert(tokens.end(), feeds[i].drafts.begin(), feeds[i].drafts.end());
    const auto want = oracle.logits(tokens);
    std::size_t accepted = 0;
    for (std::size_t q = 0; q <= feeds[i].drafts.size(); ++q) {
      const auto& logits = step.logits[4 * i + q];
      require_near(logits, want[known - 1 + q], kv);
      if (accepted == q && q < feeds[i].drafts.size() && feeds[i].drafts[q] == largest(logits)) ++accepted;
    }
    CHECK(step.accepted[i] == static_cast<std::int32_t>(accepted));
    for (std::size_t q = 0; q < 4; ++q)
      CHECK(step.next[4 * i + q] == (q < accepted    ? feeds[i].drafts[q]
                                     : q == accepted ? largest(step.logits[4 * i + q])
                                                     : -1));
  }
  CHECK(step.accepted[0] >= 1);
  CHECK(step.accepted[1] == 0);
  CHECK(step.accepted[3] == 0);  // a pad request
  for (std::size_t q = 0; q < 4; ++q) CHECK(step.next[12 + q] == -1);
}

}  // namespace

TEST_CASE("llama: prefill chunks and decode steps and draft verifications agree with an fp64 decoder") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Random random(seed);
  for (const Dtype kv : kKvDtypes)
    for (int i = 0; i < 3; ++i) {
      const LlamaShape shape = random_llama(kv, random);
      const auto driver = make_test_driver();
      if (!has_gemm(*driver)) return;
      LlamaWorld world(*driver, shape, small_limits());
      INFO(world.model().name() << " partition " << shape.partition_tokens << " theta " << shape.theta);
      const LlamaOracle oracle(*driver, world.model());
      std::vector<ModelRequest> requests;
      for (const std::int32_t prompt : {17, 26, 1}) requests.push_back(world.request(prompt, random));
      check_prefill(world, oracle, requests, kv);
      check_decode(world, oracle, requests, kv);
      check_verify(world, oracle, requests, kv);
    }
}

TEST_CASE("llama: the comparison with the oracle sees each thing that a decoder may get wrong") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Random random(seed);
  for (const Dtype kv : kKvDtypes) {
    const auto driver = make_test_driver();
    if (!has_gemm(*driver)) return;
    LlamaWorld world(*driver, small_llama(kv, random()), small_limits());
    const LlamaOracle oracle(*driver, world.model());
    std::vector<ModelRequest> requests;
    for (const std::int32_t prompt : {3, 7, 12, 18}) requests.push_back(world.request(prompt, random));
    std::vector<Feed> feeds;
    for (ModelRequest& request : requests)
      feeds.push_back({&request, static_cast<std::int32_t>(request.tokens.size())});
    const ModelResult result = world.prefill(feeds, 40, 4);
    const auto worst = [&](Wrong wrong) {
      double away = 0;
      for (std::size_t i = 0; i < requests.size(); ++i)
        away = std::max(away, distance(result.logits[i], oracle.logits(requests[i].tokens, wrong).back(), kv));
      return away;
    };
    CHECK(worst(Wrong::nothing) <= 1);
    for (const Wrong wrong : {Wrong::rope, Wrong::window, Wrong::kv_heads, Wrong::residual, Wrong::layers,
                              Wrong::attention_norm, Wrong::gate, Wrong::kv_scale}) {
      if (wrong == Wrong::kv_scale && kv != Dtype::e4m3) continue;  // the scale is 1
      CAPTURE(static_cast<int>(wrong));
      CHECK(worst(wrong) > 1);
    }
  }
}
