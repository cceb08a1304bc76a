// A batch of requests with target logits, drafted tokens and what they were drawn
// from, where everything that must not matter is NaN or garbage: pad requests,
// entries past a draft's length, rows behind the last one that counts. And the
// comparison of what an op gave with the fp64 oracle, request by request.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/verify_draft.hpp"
#include "kernels/verify_draft_oracle.hpp"
#include "tests/kernels/memory.hpp"
#include "tests/kernels/scene.hpp"

namespace refrain::test {

struct DraftShape {
  std::int32_t requests = 8, drafts = 4, vocab = 1000, pad_requests = 2;
  DraftRule rule = DraftRule::greedy;
  bool probs = true;  ///< for `rejection`: q is given, and draft tokens are drawn from it
};

struct DraftScene {
  DraftScene(const DraftShape& shape, Rng& rng);

  [[nodiscard]] float* row(std::int32_t request, std::int32_t at) const;
  [[nodiscard]] float* q_row(std::int32_t request, std::int32_t at) const;
  [[nodiscard]] std::int32_t& draft(std::int32_t request, std::int32_t at) const;
  [[nodiscard]] std::int32_t* out(std::int32_t request) const { return tokens + request * (1 + shape.drafts); }
  [[nodiscard]] std::int32_t argmax(std::int32_t request, std::int32_t at) const;
  [[nodiscard]] DraftVerdict oracle(std::int32_t request) const;

  DraftShape shape;
  Memory memory;
  float* logits = nullptr;
  std::int32_t* draft_tokens = nullptr;
  std::int32_t* draft_lengths = nullptr;
  float* draft_probs = nullptr;
  std::uint64_t* seed = nullptr;
  std::int32_t* real_requests = nullptr;
  std::int32_t* accepted = nullptr;
  std::int32_t* tokens = nullptr;
  VerifyDraftArgs args;

 private:
  void fill_row(std::int32_t request, std::int32_t at, Rng& rng);
  void fill_draft(std::int32_t request, std::int32_t at, Rng& rng);
};

struct DraftOutputs {
  const std::int32_t* accepted;  ///< [requests]
  const std::int32_t* tokens;    ///< [requests, 1 + drafts]
};

/// Requires of every request what the oracle says; returns how many were left out because a decision lay within 1e-5
/// of its edge.
std::int32_t require_as_oracle(const DraftScene& scene, const DraftOutputs& outputs);

/// A draw of one request without a draft, seed 1, whose u lies exactly on the edge between two ids. Each weight is 1 or
/// 0, so every sum is exact and the id is right to the bit: the first whose sum is above u, never one without weight.
struct EdgeDraw {
  std::uint64_t offset;  ///< found by search: the one at which `u` is drawn
  float u;
  std::int32_t vocab;
  std::vector<std::int32_t> ids;  ///< of logit 0; the others are -inf
  std::int32_t want;

  [[nodiscard]] DraftScene scene() const;
};
[[nodiscard]] std::vector<EdgeDraw> edge_draws();

/// Samples an id from weights with a generator of the test's own.
[[nodiscard]] std::int32_t pick(const float* weights, std::int32_t count, Rng& rng);

}  // namespace refrain::test
