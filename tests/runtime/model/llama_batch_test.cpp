// What a request gets does not change with who else is in the batch: on the host driver
// to the bit, which llama.hpp promises there.
#include <algorithm>
#include <cstring>

#include "tests/catch.hpp"
#include "tests/runtime/model/llama_cases.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr int kSteps = 5;

struct Story {
  std::vector<std::int32_t> tokens;
  std::vector<std::vector<float>> logits;  ///< one for each token
};

/// How a request is served; the request itself is always the same.
struct Manner {
  std::vector<std::int32_t> chunks;  ///< of the prompt; their rows
  std::int32_t spare_rows = 0;
  int others = 0;       ///< other requests in each step, before this one
  int pages_taken = 0;  ///< requests that had pages before it
};

ModelRequest subject(LlamaWorld& world, const LlamaShape& shape, std::uint64_t seed, Random& placement) {
  Random random(seed);
  std::vector<std::int32_t> prompt;
  for (int i = 0; i < 19; ++i)
    prompt.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(shape.vocab)));
  ModelRequest request = world.request(std::move(prompt), placement);
  request.temperature = 0.9f, request.top_p = 0.9f, request.top_k = 40, request.seed = seed;
  return request;
}

Story serve(const LlamaShape& shape, std::uint64_t seed, const Manner& manner, Random& placement,
            const ServingLimits& limits = small_limits()) {
  const auto driver = make_test_driver();
  LlamaWorld world(*driver, shape, limits);
  for (int i = 0; i < manner.pages_taken; ++i) (void)world.request(1, placement);
  ModelRequest request = subject(world, shape, seed, placement);
  std::vector<ModelRequest> others;
  for (int i = 0; i < manner.others; ++i) others.push_back(world.request(15, placement));
  Story story;
  ModelResult result;
  const auto place = static_cast<std::size_t>(manner.others);
  for (const std::int32_t chunk : manner.chunks) {
    std::vector<Feed> feeds;
    for (ModelRequest& other : others) feeds.push_back({&other, 3});
    feeds.push_back({&request, chunk});
    const std::int32_t rows = chunk + 3 * manner.others + manner.spare_rows;
    result = world.prefill(feeds, rows, std::min(manner.others + 1 + manner.spare_rows, 4));
  }
  for (ModelRequest& other : others) other.tokens.resize(static_cast<std::size_t>(other.cached) + 1);
  for (int step = 0; step <= kSteps; ++step) {
    story.tokens.push_back(result.next[place]);
    story.logits.push_back(result.logits[place]);
    request.tokens.push_back(result.next[place]);
    std::vector<ModelRequest*> batch;
    for (std::size_t i = 0; i < others.size(); ++i) {
      if (step > 0) others[i].tokens.push_back(result.next[i]);
      batch.push_back(&others[i]);
    }
    batch.push_back(&request);
    result = world.decode(batch, static_cast<std::int32_t>(batch.size()) + manner.spare_rows);
  }
  return story;
}

std::size_t different_rows(const Story& a, const Story& b) {
  std::size_t different = 0;
  for (std::size_t i = 0; i < a.logits.size(); ++i)
    different += std::memcmp(a.logits[i].data(), b.logits[i].data(), a.logits[i].size() * sizeof(float)) != 0;
  return different;
}

}  // namespace

TEST_CASE(
    "llama: logits and sampled tokens are the same bits in every batch and bucket and chunking and on any pages") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Random random(seed);
  const Manner manners[] = {
      {{19}, 2, 0, 0}, {{19}, 0, 2, 0}, {{1, 7, 2, 9}, 0, 0, 4}, {{6, 13}, 1, 3, 2}, {{18, 1}, 3, 1, 1}};
  for (const Dtype kv : kKvDtypes) {
    const LlamaShape shape = random_llama(kv, random);
    const Story alone = serve(shape, seed, {.chunks = {19}}, random);
    REQUIRE(*std::min_element(alone.tokens.begin(), alone.tokens.end()) >= 0);
    for (const Manner& manner : manners) {
      CAPTURE(to_string(kv), &manner - manners);
      const Story other = serve(shape, seed, manner, random);
      CHECK((other.tokens == alone.tokens));
      CHECK(different_rows(other, alone) == 0);
    }
  }
}

TEST_CASE("llama: rows of more tokens than short splits reach keep their bits in every batch and under every context") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  Random random(seed);
  LlamaShape shape = small_llama(Dtype::fp16, seed);
  shape.heads = shape.kv_heads = 32;  // so at most 8 splits: of two tokens up to row 16, then one of a whole stage
  shape.partition_tokens = 2;
  ServingLimits wide = small_limits();
  wide.context = 400;
  const Story alone = serve(shape, seed, {.chunks = {19}}, random);
  CHECK(different_rows(serve(shape, seed, {.chunks = {19}}, random, wide), alone) == 0);
  for (const Manner& manner : {Manner{{1, 14, 4}, 2, 0, 0}, {{19}, 1, 2, 2}})
    CHECK(different_rows(serve(shape, seed, manner, random), alone) == 0);
  shape.partition_tokens = 3;  // splits of three tokens up to row 24
  CHECK(different_rows(serve(shape, seed, {.chunks = {19}}, random), alone) > 0);
}

TEST_CASE("llama: the comparison of bits sees splits that are cut elsewhere") {
  Random random(5);
  LlamaShape shape = small_llama(Dtype::fp16, 5);
  const Story one = serve(shape, 5, {.chunks = {19}}, random);
  shape.partition_tokens = 7;
  CHECK(different_rows(serve(shape, 5, {.chunks = {19}}, random), one) > 0);
}

TEST_CASE("llama: a verify row gives the bits that a decode row of the same tokens gives") {
  const std::uint64_t seed = fresh_seed();
  INFO("seed " << seed);
  for (const Dtype kv : kKvDtypes) {
    const auto driver = make_test_driver();
    LlamaWorld world(*driver, small_llama(kv, seed), small_limits());
    Random random(seed);
    ModelRequest request = world.request(11, random);
    request.tokens.push_back(world.prefill({{&request, 11}}, 11, 1).next[0]);
    ModelRequest guessed = request;
    std::vector<std::vector<float>> decoded;
    for (int step = 0; step < 4; ++step) {
      const ModelResult result = world.decode({&request}, 2);
      decoded.push_back(result.logits[0]);
      request.tokens.push_back(result.next[0]);
    }
    const std::vector<std::int32_t> drafts(request.tokens.begin() + 12, request.tokens.begin() + 15);
    const ModelResult verified = world.verify({{&guessed, 1, drafts}}, 2, 3);
    CHECK(verified.accepted[0] == 3);  // greedy decoding again
    CHECK(verified.next[3] == request.tokens.back());
    for (std::size_t q = 0; q < 4; ++q) CHECK((verified.logits[q] == decoded[q]));
  }
}
