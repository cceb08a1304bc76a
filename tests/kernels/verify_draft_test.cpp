#include "kernels/verify_draft.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>

#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/draft_scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::int32_t> tokens_of(const DraftScene& scene, std::int32_t request) {
  return {scene.out(request), scene.out(request) + 1 + scene.shape.drafts};
}

/// One request with four drafts over four ids, whose argmax is 3, 1, 2, 0, 1 in turn.
struct Small {
  explicit Small(DraftRule rule = DraftRule::greedy)
      : scene({.requests = 1, .drafts = 4, .vocab = 4, .pad_requests = 0, .rule = rule, .probs = false}, rng) {
    *scene.draft_lengths = 4;
    for (std::int32_t at = 0; at < 5; ++at) {
      std::fill_n(scene.row(0, at), 4, -2.0f);
      scene.row(0, at)[kBest[at]] = 3.0f;
      if (at < 4) scene.draft(0, at) = kBest[at];
    }
  }
  std::vector<std::int32_t> run() {
    run_checked(verify_draft, scene.args, scene.memory);
    return tokens_of(scene, 0);
  }

  static constexpr std::int32_t kBest[] = {3, 1, 2, 0, 1};
  Rng rng{1};
  DraftScene scene;
};

using Tokens = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("verify_draft: greedy accepts drafts up to the first that is not the argmax and gives the argmax there") {
  Small s;
  CHECK(s.run() == Tokens{3, 1, 2, 0, 1});  // all four, and the bonus
  CHECK(*s.scene.accepted == 4);
  s.scene.draft(0, 2) = 1;
  CHECK(s.run() == Tokens{3, 1, 2, -1, -1});  // two, and what the third should have been; the fourth is right in vain
  CHECK(*s.scene.accepted == 2);
  s.scene.draft(0, 0) = 0;
  CHECK(s.run() == Tokens{3, -1, -1, -1, -1});
  CHECK(*s.scene.accepted == 0);
}

TEST_CASE("verify_draft: a draft's length ends it and what stands behind is garbage") {
  Small s;
  for (std::int32_t at = 0; at < 4; ++at) {
    *s.scene.draft_lengths = at;
    Tokens want(5, -1);
    std::copy_n(Small::kBest, at + 1, want.begin());
    CHECK(s.run() == want);
    CHECK(*s.scene.accepted == at);
  }
  *s.scene.draft_lengths = -5;
  CHECK(s.run() == Tokens{3, -1, -1, -1, -1});
  *s.scene.draft_lengths = INT_MAX;
  CHECK(s.run() == Tokens{3, 1, 2, 0, 1});
}

TEST_CASE("verify_draft: of equal logits the lowest id is the argmax and the two zeros are equal") {
  Small s;
  std::fill_n(s.scene.row(0, 0), 4, 5.0f);
  s.scene.draft(0, 0) = 1;
  CHECK(s.run() == Tokens{0, -1, -1, -1, -1});
  std::fill_n(s.scene.row(0, 0), 4, -1.0f);
  s.scene.row(0, 0)[1] = -0.0f, s.scene.row(0, 0)[2] = 0.0f;
  CHECK(s.run() == Tokens{1, 1, 2, 0, 1});
  std::fill_n(s.scene.row(0, 0), 4, kInf);
  s.scene.draft(0, 0) = 0;
  CHECK(s.run() == Tokens{0, 1, 2, 0, 1});
}

TEST_CASE("verify_draft: a draft token outside the vocabulary is not accepted") {
  for (const DraftRule rule : {DraftRule::greedy, DraftRule::rejection})
    for (const std::int32_t bad : {-1, 4, INT_MAX, INT_MIN}) {
      Small s(rule);
      s.scene.draft(0, 0) = bad;
      const Tokens got = s.run();
      CHECK(*s.scene.accepted == 0);
      CHECK((got[0] >= 0 && got[0] < 4));
      CHECK(Tokens(got.begin() + 1, got.end()) == Tokens(4, -1));
      CHECK(require_as_oracle(s.scene, {s.scene.accepted, s.scene.tokens}) == 0);
    }
}

TEST_CASE("verify_draft: a row without a distribution ends the draft with no token") {
  for (const DraftRule rule : {DraftRule::greedy, DraftRule::rejection})
    for (const bool all : {false, true})
      for (std::int32_t at = 0; at < 5; ++at) {
        CAPTURE(static_cast<int>(rule), all, at);
        Small s(rule);
        // Sure drafts, so that the rows before the bad one are accepted under both rules.
        for (std::int32_t before = 0; before < 5; ++before) s.scene.row(0, before)[Small::kBest[before]] = 500;
        if (all)
          std::fill_n(s.scene.row(0, at), 4, -kInf);
        else
          s.scene.row(0, at)[(Small::kBest[at] + 1) % 4] = kNan;
        Tokens want(5, -1);
        std::copy_n(Small::kBest, at, want.begin());
        CHECK(s.run() == want);
        CHECK(*s.scene.accepted == at);
      }
}

TEST_CASE("verify_draft: rows behind the one that decides may hold anything") {
  for (const DraftRule rule : {DraftRule::greedy, DraftRule::rejection}) {
    Small s(rule);
    s.scene.row(0, 0)[3] = 500;
    s.scene.draft(0, 0) = 2;  // no chance at all
    for (std::int32_t at = 1; at < 5; ++at) std::fill_n(s.scene.row(0, at), 4, kNan);
    CHECK(s.run() == Tokens{3, -1, -1, -1, -1});
  }
}

TEST_CASE("verify_draft: infinite logits share the whole probability") {
  Small s(DraftRule::rejection);
  *s.scene.draft_lengths = 0;
  s.scene.row(0, 0)[0] = s.scene.row(0, 0)[2] = kInf;
  int counts[4] = {};
  for (std::uint64_t offset = 0; offset < 400; ++offset) {
    s.scene.seed[1] = offset;
    verify_draft.host(s.scene.args);
    ++counts[*s.scene.tokens];
  }
  CHECK(counts[1] + counts[3] == 0);
  CHECK((counts[0] > 150 && counts[2] > 150));  // 5 standard deviations
}

TEST_CASE("verify_draft: every rule and vocabulary agrees with the oracle and every element is written") {
  const std::uint64_t fresh = fresh_seed();
  INFO("seed " << fresh);
  Rng rng(fresh);
  std::int32_t judged = 0, left_out = 0;
  for (const std::int32_t vocab : {1, 17, 1000, 32003})
    for (const std::int32_t drafts : {0, 1, 4, 7})
      for (const int rule : {0, 1, 2}) {
        CAPTURE(vocab, drafts, rule);
        DraftScene scene({.requests = vocab > 10'000 ? 8 : 40,
                          .drafts = drafts,
                          .vocab = vocab,
                          .rule = rule == 0 ? DraftRule::greedy : DraftRule::rejection,
                          .probs = rule == 1},
                         rng);
        run_checked(verify_draft, scene.args, scene.memory);
        judged += scene.shape.requests;
        left_out += require_as_oracle(scene, {scene.accepted, scene.tokens});
      }
  // A decision lies within 1e-5 of its edge with probability 2e-5: of some 1,300 requests with at most 7 each, one in
  // ten runs leaves one out.
  CHECK(judged > 1300);
  CHECK(left_out <= 3);
}

TEST_CASE("verify_draft: a vocabulary of 151936 agrees with the oracle") {
  Rng rng(fresh_seed());
  for (const DraftRule rule : {DraftRule::greedy, DraftRule::rejection}) {
    DraftScene scene({.requests = 3, .drafts = 2, .vocab = 151'936, .pad_requests = 1, .rule = rule}, rng);
    verify_draft.host(scene.args);
    CHECK(require_as_oracle(scene, {scene.accepted, scene.tokens}) <= 1);
  }
}

TEST_CASE(
    "verify_draft: requests past the real ones accept nothing and get no token however many are said to be real") {
  Rng rng(fresh_seed());
  for (const std::int32_t real : {-3, 0, 1, 5, 7}) {
    CAPTURE(real);
    DraftScene scene({.requests = 7, .drafts = 2, .vocab = 30, .pad_requests = 3}, rng);
    *scene.real_requests = real;
    run_checked(verify_draft, scene.args, scene.memory);
    require_as_oracle(scene, {scene.accepted, scene.tokens});
  }
}

TEST_CASE("verify_draft: a q that is no probability rejects and one of it elsewhere takes its id out of the rest") {
  for (const float bad : {kNan, -1.0f, kInf}) {
    CAPTURE(bad);
    Rng rng(7);
    DraftScene scene({.requests = 1, .drafts = 1, .vocab = 4, .pad_requests = 0, .rule = DraftRule::rejection}, rng);
    *scene.draft_lengths = 1;
    std::fill_n(scene.row(0, 0), 8, 0.0f);  // both rows
    const float q[] = {bad, 0.1f, bad, 0.1f};
    std::copy_n(q, 4, scene.q_row(0, 0));
    scene.draft(0, 0) = 0;
    for (std::uint64_t offset = 0; offset < 50; ++offset) {
      scene.seed[1] = offset;
      run_checked(verify_draft, scene.args, scene.memory);
      REQUIRE(*scene.accepted == 0);
      REQUIRE((scene.tokens[0] == 1 || scene.tokens[0] == 3));
      REQUIRE(require_as_oracle(scene, {scene.accepted, scene.tokens}) == 0);
    }
  }
}

TEST_CASE("verify_draft: the contract names what each rule reads and writes both outputs whole") {
  Rng rng(1);
  const auto reads = [&](const DraftShape& shape, auto pointer) {
    DraftScene scene(shape, rng);
    const Contract contract = verify_draft.contract(scene.args);
    CHECK(exact_bytes(contract) == 10u * 4 + 10u * 5 * 4);
    CHECK((contract.needs.empty() && contract.gives.empty()));
    const auto base = reinterpret_cast<Address>(pointer(scene));
    std::uint64_t bytes = 0;
    for (const Access& access : contract.accesses)
      if (access.mode == Mode::read && access.base == base) bytes += access.range.size();
    return bytes;
  };
  const auto seed = [](const DraftScene& s) { return static_cast<const void*>(s.seed); };
  const auto probs = [](const DraftScene& s) { return static_cast<const void*>(s.draft_probs); };
  const auto logits = [](const DraftScene& s) { return static_cast<const void*>(s.logits); };
  CHECK(reads({.vocab = 17}, seed) == 0);
  CHECK(reads({.vocab = 17, .rule = DraftRule::rejection}, seed) == 16);
  CHECK(reads({.vocab = 17, .rule = DraftRule::rejection}, probs) == 10 * 4 * 17 * 4);
  CHECK(reads({.vocab = 17}, logits) == 10 * 5 * 17 * 4);
}
