// Speculative sampling leaves the target's distribution as it is, whatever the
// draft's: the tokens that come out are counted over many requests and held against
// p by chi-square. Seeds are fixed, so a run fails always or never; the bounds are
// the 1e-6 quantiles of the distribution.
#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/kernels/draft_scene.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

constexpr std::int32_t kVocab = 8, kRequests = 20'000;
constexpr double kBound = 41.0;  ///< chi-square with 7 degrees of freedom exceeds 40.52 with probability 1e-6

constexpr float kLogits[2][kVocab] = {{0, 1, -1, 2, 0.5f, -3, 1.5f, 0}, {1, -2, 0, 0.3f, 2, 1, -1, 0.7f}};
constexpr float kDraft[kVocab] = {0.3f, 0.05f, 0.05f, 0.1f, 0.2f, 0.1f, 0.15f, 0.05f};  // far from both

/// Many requests with the same two target rows and one draft token each, drawn from kDraft or always `fixed`.
struct Many {
  Many(bool one_hot, std::int32_t fixed = -1)
      : scene({.requests = kRequests,
               .drafts = 1,
               .vocab = kVocab,
               .pad_requests = 0,
               .rule = DraftRule::rejection,
               .probs = !one_hot},
              rng) {
    scene.seed[0] = 11, scene.seed[1] = 12;
    for (std::int32_t request = 0; request < kRequests; ++request) {
      scene.draft_lengths[request] = 1;
      for (std::int32_t at = 0; at < 2; ++at) std::copy_n(kLogits[at], kVocab, scene.row(request, at));
      if (!one_hot) std::copy_n(kDraft, kVocab, scene.q_row(request, 0));
      scene.draft(request, 0) = fixed >= 0 ? fixed : pick(kDraft, kVocab, rng);
    }
  }

  /// Of the tokens at position `at`, against the softmax of kLogits[at].
  [[nodiscard]] double chi_square(std::int32_t at) const {
    double count[kVocab] = {}, all = 0, sum = 0, chi = 0;
    for (std::int32_t request = 0; request < kRequests; ++request) {
      const std::int32_t token = scene.out(request)[at];
      if (token < 0) continue;
      ++count[token];
      ++all;
    }
    for (const float logit : kLogits[at]) sum += std::exp(double{logit});
    for (std::int32_t id = 0; id < kVocab; ++id) {
      const double expected = all * std::exp(double{kLogits[at][id]}) / sum;
      chi += (count[id] - expected) * (count[id] - expected) / expected;
    }
    return chi;
  }

  [[nodiscard]] double accepted_share() const {
    double count = 0;
    for (std::int32_t request = 0; request < kRequests; ++request) count += scene.accepted[request];
    return count / kRequests;
  }

  Rng rng{5};
  DraftScene scene;
};

}  // namespace

TEST_CASE("verify_draft draws: with drafts drawn from q the first token and the bonus are distributed as the target") {
  Many many(false);
  verify_draft.host(many.scene.args);
  CHECK(many.chi_square(0) < kBound);
  CHECK(many.chi_square(1) < kBound);  // among the accepted, whose second row does not depend on the first token
  // A draft is accepted with probability sum of min(p, q); 0.01 is 3 standard deviations.
  double sum = 0, overlap = 0;
  for (const float logit : kLogits[0]) sum += std::exp(double{logit});
  for (std::int32_t id = 0; id < kVocab; ++id)
    overlap += std::min(std::exp(double{kLogits[0][id]}) / sum, double{kDraft[id]});
  CHECK(std::abs(many.accepted_share() - overlap) < 0.0106);
}

TEST_CASE("verify_draft draws: with a greedy draft the tokens are distributed as the target whatever it proposes") {
  for (const std::int32_t proposed : {3, 5}) {
    Many many(true, proposed);
    verify_draft.host(many.scene.args);
    CHECK(many.chi_square(0) < kBound);
    CHECK(many.chi_square(1) < kBound);
  }
}

TEST_CASE("verify_draft draws: the count sees a q that the drafts were not drawn from") {
  Many many(false);
  for (std::int32_t request = 0; request < kRequests; ++request)
    std::fill_n(many.scene.q_row(request, 0), kVocab, 1.0f / kVocab);
  verify_draft.host(many.scene.args);
  CHECK(many.chi_square(0) > 10 * kBound);
  // And one under which every draft is believed.
  Many trusting(false);
  for (std::int32_t request = 0; request < kRequests; ++request)
    std::fill_n(trusting.scene.q_row(request, 0), kVocab, 1e-9f);
  verify_draft.host(trusting.scene.args);
  CHECK(trusting.chi_square(0) > 10 * kBound);
}

TEST_CASE("verify_draft draws: a u exactly on an edge takes the next id that has weight") {
  for (const EdgeDraw& edge : edge_draws()) {
    CAPTURE(edge.u, edge.vocab, edge.want);
    REQUIRE(draft_uniform(1, edge.offset, 0, 0, Draw::next) == edge.u);
    const DraftScene scene = edge.scene();
    verify_draft.host(scene.args);
    CHECK(*scene.tokens == edge.want);
  }
}

TEST_CASE("verify_draft draws: a seed and an offset repeat their tokens and others give others") {
  Many many(false);
  const auto run = [&](std::uint64_t seed, std::uint64_t offset) {
    many.scene.seed[0] = seed, many.scene.seed[1] = offset;
    verify_draft.host(many.scene.args);
    return std::vector<std::int32_t>(many.scene.tokens, many.scene.tokens + 2 * kRequests);
  };
  const auto differing = [](const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
    int count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
    return count;
  };
  const auto first = run(1, 2);
  CHECK((run(1, 2) == first));
  CHECK(differing(run(1, 3), first) > kRequests / 2);
  CHECK(differing(run(2, 2), first) > kRequests / 2);
  CHECK(differing(run(2, 1), first) > kRequests / 2);
}
