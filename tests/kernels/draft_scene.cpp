#include "tests/kernels/draft_scene.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.hpp"

namespace refrain::test {

DraftScene::DraftScene(const DraftShape& given, Rng& rng) : shape(given) {
  const std::int64_t all = shape.requests + shape.pad_requests, vocab = shape.vocab, drafts = shape.drafts;
  const bool draws = shape.rule == DraftRule::rejection;
  logits = memory.take<float>(all * (1 + drafts) * vocab);
  if (drafts > 0) draft_tokens = memory.take<std::int32_t>(all * drafts);
  draft_lengths = memory.take<std::int32_t>(all);
  if (draws && shape.probs && drafts > 0) draft_probs = memory.take<float>(all * drafts * vocab);
  seed = memory.take<std::uint64_t>(2);
  real_requests = memory.take<std::int32_t>(1);
  accepted = memory.take<std::int32_t>(all);
  tokens = memory.take<std::int32_t>(all * (1 + drafts));
  seed[0] = rng(), seed[1] = rng();
  *real_requests = shape.requests;
  for (std::int32_t request = 0; request < shape.requests; ++request) {
    draft_lengths[request] = request % (shape.drafts + 1);
    for (std::int32_t at = 0; at <= draft_lengths[request]; ++at) fill_row(request, at, rng);
    for (std::int32_t at = 0; at < shape.drafts; ++at) fill_draft(request, at, rng);
  }
  args = {.logits = logits,
          .draft_tokens = draft_tokens,
          .draft_lengths = draft_lengths,
          .draft_probs = draft_probs,
          .seed = draws ? seed : nullptr,
          .real_requests = real_requests,
          .rule = shape.rule,
          .requests = shape.requests + shape.pad_requests,
          .drafts = shape.drafts,
          .vocab = shape.vocab,
          .accepted = accepted,
          .tokens = tokens};
}

void DraftScene::fill_row(std::int32_t request, std::int32_t at, Rng& rng) {
  std::normal_distribution<float> normal;
  for (std::int32_t id = 0; id < shape.vocab; ++id) row(request, at)[id] = 3 * normal(rng);
}

/// q is near p, so that acceptance is no rare event; the greedy rule's drafts are the argmax in three of four cases.
void DraftScene::fill_draft(std::int32_t request, std::int32_t at, Rng& rng) {
  std::int32_t& token = draft(request, at);
  if (at >= draft_lengths[request]) {
    const std::int32_t garbage[] = {INT_MAX, INT_MIN, -1, shape.vocab, 0};
    token = garbage[rng() % std::size(garbage)];
    return;
  }
  const float* p = row(request, at);
  token = rng() % 4 != 0 ? argmax(request, at) : static_cast<std::int32_t>(rng() % static_cast<unsigned>(shape.vocab));
  if (draft_probs == nullptr) return;
  std::normal_distribution<float> normal;
  float* q = q_row(request, at);
  const float top = p[argmax(request, at)];
  double sum = 0;
  for (std::int32_t id = 0; id < shape.vocab; ++id) sum += q[id] = std::exp(p[id] - top + 0.5f * normal(rng));
  for (std::int32_t id = 0; id < shape.vocab; ++id) q[id] = static_cast<float>(q[id] / sum);
  token = pick(q, shape.vocab, rng);
}

float* DraftScene::row(std::int32_t request, std::int32_t at) const {
  return logits + (std::int64_t{request} * (1 + shape.drafts) + at) * shape.vocab;
}

float* DraftScene::q_row(std::int32_t request, std::int32_t at) const {
  return draft_probs + (std::int64_t{request} * shape.drafts + at) * shape.vocab;
}

std::int32_t& DraftScene::draft(std::int32_t request, std::int32_t at) const {
  return draft_tokens[request * shape.drafts + at];
}

std::int32_t DraftScene::argmax(std::int32_t request, std::int32_t at) const {
  const float* p = row(request, at);
  return static_cast<std::int32_t>(std::max_element(p, p + shape.vocab) - p);
}

DraftVerdict DraftScene::oracle(std::int32_t request) const {
  const auto length = static_cast<std::size_t>(draft_lengths[request]), vocab = static_cast<std::size_t>(shape.vocab);
  DraftCase one;
  one.vocab = shape.vocab;
  one.logits = {row(request, 0), (1 + length) * vocab};
  one.greedy = shape.rule == DraftRule::greedy;
  if (length > 0) one.draft = {&draft(request, 0), length};
  if (one.greedy) return verify_draft_oracle(one);
  if (draft_probs != nullptr && length > 0) one.probs = {q_row(request, 0), length * vocab};
  std::vector<double> uniforms;
  for (std::int32_t at = 0; at < draft_lengths[request]; ++at)
    uniforms.push_back(draft_uniform(seed[0], seed[1], request, at, Draw::accept));
  one.uniforms = uniforms;
  return verify_draft_oracle(one);
}

namespace {

void require_request(const DraftScene& scene, const DraftVerdict& verdict, std::int32_t request,
                     const DraftOutputs& outputs) {
  const std::int32_t* got = outputs.tokens + std::int64_t{request} * (1 + scene.shape.drafts);
  REQUIRE(outputs.accepted[request] == verdict.accepted);
  for (std::int32_t at = 0; at < verdict.accepted; ++at) REQUIRE(got[at] == scene.draft(request, at));
  const std::int32_t next = got[verdict.accepted];
  if (verdict.next.empty()) {
    REQUIRE(next == -1);
  } else if (scene.shape.rule == DraftRule::greedy) {
    REQUIRE(next >= 0);
    REQUIRE(verdict.next[static_cast<std::size_t>(next)] == 1);
  } else {
    const double u = draft_uniform(scene.seed[0], scene.seed[1], request, verdict.accepted, Draw::next);
    INFO("next token " << next << ", u " << u << ", mass " << verdict.mass);
    REQUIRE(draw_fits(verdict.next, next, u, 1e-5 / verdict.mass));
  }
  for (std::int32_t at = verdict.accepted + 1; at <= scene.shape.drafts; ++at) REQUIRE(got[at] == -1);
}

}  // namespace

std::int32_t require_as_oracle(const DraftScene& scene, const DraftOutputs& outputs) {
  constexpr double kEdge = 1e-5;
  std::int32_t left_out = 0;
  for (std::int32_t request = 0; request < scene.args.requests; ++request) {
    CAPTURE(request);
    if (request >= *scene.real_requests) {
      REQUIRE(outputs.accepted[request] == 0);
      for (std::int32_t at = 0; at <= scene.shape.drafts; ++at)
        REQUIRE(outputs.tokens[std::int64_t{request} * (1 + scene.shape.drafts) + at] == -1);
      continue;
    }
    const DraftVerdict verdict = scene.oracle(request);
    if (verdict.margin < kEdge)
      ++left_out;
    else
      require_request(scene, verdict, request, outputs);
  }
  return left_out;
}

std::vector<EdgeDraw> edge_draws() {
  constexpr std::uint64_t kZero = 6'099'793, kHalf = 65'140'301;
  return {{kZero, 0.0f, 64, {10}, 10},      // whole runs without weight come first
          {kZero, 0.0f, 64, {1, 5}, 1},     // an id without weight comes first
          {kHalf, 0.5f, 2, {0, 1}, 1},      // on the edge between two runs
          {kHalf, 0.5f, 64, {0, 1}, 1},     // inside a run
          {kHalf, 0.5f, 64, {0, 63}, 63}};  // over runs without weight
}

DraftScene EdgeDraw::scene() const {
  Rng rng(1);
  DraftScene scene(
      {.requests = 1, .drafts = 0, .vocab = vocab, .pad_requests = 0, .rule = DraftRule::rejection, .probs = false},
      rng);
  scene.seed[0] = 1, scene.seed[1] = offset;
  std::fill_n(scene.row(0, 0), vocab, -std::numeric_limits<float>::infinity());
  for (const std::int32_t id : ids) scene.row(0, 0)[id] = 0;
  return scene;
}

std::int32_t pick(const float* weights, std::int32_t count, Rng& rng) {
  std::discrete_distribution<std::int32_t> ids(weights, weights + count);
  return ids(rng);
}

}  // namespace refrain::test
