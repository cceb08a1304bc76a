// What speculative verification should give for one request, in fp64: how many
// draft tokens are accepted, and the whole distribution of the token that follows.
// For tests only; it shares no code with the twin or the kernel, and takes the
// uniforms as numbers. How near a decision was to its edge comes with the verdict.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace refrain {

struct DraftCase {
  std::int32_t vocab = 0;
  std::span<const float> logits;        ///< [1 + draft.size(), vocab]
  std::span<const std::int32_t> draft;  ///< the tokens that count
  std::span<const float> probs;         ///< [draft.size(), vocab], or empty: one-hot
  std::span<const double> uniforms;     ///< [draft.size()]: u of each acceptance
  bool greedy = false;                  ///< then neither probs nor uniforms are looked at
};

struct DraftVerdict {
  std::int32_t accepted = 0;
  /// [vocab], sums to 1: of the token after the accepted ones; one-hot for greedy. Empty: the row has no distribution.
  std::vector<double> next;
  double mass = 1;    ///< what `next` was normalised by: errors of p and q weigh 1 / mass in it
  double margin = 1;  ///< the least |u - p / q| of all decisions
};

[[nodiscard]] DraftVerdict verify_draft_oracle(const DraftCase& one);

/// Whether drawing `token` with `u` from `distribution` in order of id is right within `slack` of the cumulative sums.
[[nodiscard]] bool draw_fits(std::span<const double> distribution, std::int32_t token, double u, double slack);

}  // namespace refrain
