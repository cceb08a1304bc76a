// The model's three phases against an fp64 model that knows no pages, plans or batches.
#include <algorithm>

#include "tests/catch.hpp"
#include "tests/runtime/model/attention_only_oracle.hpp"
#include "tests/runtime/model/attention_only_world.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// Logits that a request was given behind its first `known` tokens.
struct Given {
  std::size_t request = 0, known = 0;
  std::vector<float> logits;
};

/// A story of three requests; afterwards the tokens that each was fed, guesses at the end among them, are judged at
/// once.
struct Story {
  explicit Story(AttentionOnlyWorld& of, Random& random) : world(of) {
    for (const std::int32_t prompt : {75, 98, 1}) requests.push_back(world.request(prompt, random));
  }

  void give(std::size_t request, const std::vector<float>& logits) {
    given.push_back({request, requests[request].tokens.size(), logits});
  }
  void go_on(std::size_t request, const ModelResult& result, std::size_t at) {
    give(request, result.logits[at]);
    const auto largest = std::max_element(result.logits[at].begin(), result.logits[at].end());
    CHECK(result.next[at] == largest - result.logits[at].begin());
    requests[request].tokens.push_back(result.next[at]);
  }

  /// Chunks of 90 and 84 rows, of more than MLA's split decode takes, and of 1 row, which is no group.
  void prefill() {
    const ModelResult first = world.prefill({{&requests[0], 75}, {&requests[1], 13}}, 90, 3);
    CHECK(first.next[1] == -1);  // its prompt goes on
    CHECK(first.next[2] == -1);  // a pad
    go_on(0, first, 0);
    const ModelResult second = world.prefill({{&requests[1], 60}}, 61, 1);
    CHECK(second.next[0] == -1);
    go_on(1, world.prefill({{&requests[1], 25}}, 30, 2), 0);
    go_on(2, world.prefill({{&requests[2], 1}}, 1, 1), 0);
  }
  void decode() {
    for (std::int32_t rows = 3; rows <= 5; ++rows) {
      const ModelResult step = world.decode({&requests[2], &requests[0], &requests[1]}, rows);
      for (const std::size_t request : {0, 1, 2}) go_on(request, step, (request + 1) % 3);
      for (std::size_t pad = 3; pad < static_cast<std::size_t>(rows); ++pad) CHECK(step.next[pad] == -1);
    }
  }
  /// The first request's first guess is right, if the model's numbers let it be, and the others are not.
  void verify(std::int32_t vocab) {
    ModelRequest ahead = requests[0];  // on the same pages: what it appends is written again below
    const std::int32_t right = world.decode({&ahead}, 1).next[0];
    guesses = {{right, (right + 1) % vocab, 5}, {7}, {}};
    std::vector<Feed> feeds;
    for (std::size_t i = 0; i < 3; ++i) feeds.push_back({&requests[i], 1, guesses[i]});
    const ModelResult step = world.verify(feeds, 4, 3);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t q = 0; q <= guesses[i].size(); ++q) {
        give(i, step.logits[4 * i + q]);
        given.back().known += q;
      }
    CHECK(step.accepted[0] >= 1);
    CHECK(step.next[0] == right);
    CHECK(step.accepted[3] == 0);  // a pad request
    for (std::size_t q = 0; q < 4; ++q) CHECK(step.next[12 + q] == -1);
  }

  /// The worst distance of all logits that were given.
  double worst(const AttentionOnlyOracle& oracle, WrongAttention wrong = WrongAttention::nothing) const {
    double away = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::vector<std::int32_t> tokens = requests[i].tokens;
      if (!guesses.empty()) tokens.insert(tokens.end(), guesses[i].begin(), guesses[i].end());
      const auto want = oracle.logits(tokens, wrong);
      for (const Given& g : given)
        if (g.request == i)
          away = std::max(away, attention_only_distance(g.logits, want[g.known - 1], world.model().shape().kv));
    }
    return away;
  }

  AttentionOnlyWorld& world;
  std::vector<ModelRequest> requests;
  std::vector<std::vector<std::int32_t>> guesses;
  std::vector<Given> given;
};

}  // namespace

TEST_CASE("attention_only: prefill by both routes and decode and draft verification agree with an fp64 model") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  for (const AttentionOnlyCase& c : kAttentionOnlyCases) {
    const auto driver = make_test_driver();
    if (!has_gemm(*driver)) return;
    AttentionOnlyShape shape = small_attention_only(c, random());
    AttentionOnlyWorld world(*driver, shape, attention_only_limits());
    INFO(world.model().name() << " record " << static_cast<int>(c.record));
    Story story(world, random);
    story.prefill();
    story.decode();
    story.verify(shape.vocab);
    CHECK(story.worst(AttentionOnlyOracle(*driver, world.model())) <= 1);
  }
}

TEST_CASE("attention_only: the comparison with the oracle sees each thing that a layer may get wrong") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  Random random(seed);
  const auto driver = make_test_driver();
  if (!has_gemm(*driver)) return;
  AttentionOnlyWorld world(*driver, small_attention_only(kAttentionOnlyCases[1], random()), attention_only_limits());
  Story story(world, random);
  story.prefill();
  const AttentionOnlyOracle oracle(*driver, world.model());
  CHECK(story.worst(oracle) <= 1);
  for (const WrongAttention wrong :
       {WrongAttention::window, WrongAttention::blocks, WrongAttention::sink_blocks, WrongAttention::tail,
        WrongAttention::topk, WrongAttention::sink_tokens, WrongAttention::rope, WrongAttention::kv_heads,
        WrongAttention::residual, WrongAttention::layers, WrongAttention::norm}) {
    CAPTURE(static_cast<int>(wrong));
    CHECK(story.worst(oracle, wrong) > 1);
  }
}
