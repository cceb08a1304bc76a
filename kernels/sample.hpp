// sample: one token a row, drawn from its logits: first the temperature divides
// them, then top-k keeps the largest, then top-p the fewest of those that hold its
// share of their probability. Parameters and seed stand in device memory, so one
// graph serves every request, and a replay draws anew when an offset moves on. What a
// row draws depends on its logits, parameters, seed and offset alone: a request gets the
// same token in whatever batch and row it stands.
#pragma once

#include "kernels/op.hpp"
#include "kernels/verify_draft.hpp"

namespace refrain {

struct SampleArgs {
  const void* logits = nullptr;          ///< [bucket, vocab]
  const std::int32_t* rows = nullptr;    ///< [1]: count of real rows
  const float* temperature = nullptr;    ///< [bucket]: 0 is argmax
  const std::int32_t* top_k = nullptr;   ///< [bucket]: below 1, or the vocabulary and more: all ids
  const float* top_p = nullptr;          ///< [bucket]: 1 and more: all that top-k left; 0 and less: the largest alone
  const std::uint64_t* seeds = nullptr;  ///< [bucket, 2]: seed and offset of the row's request
  const std::int32_t* wanted = nullptr;  ///< [bucket], or null: all; a row where it is negative has nothing to sample
  Dtype dtype = Dtype::fp32;             ///< fp32, fp16 or bf16
  std::int32_t bucket = 0, vocab = 0;    ///< vocab at most 2^23
  std::int32_t* tokens = nullptr;        ///< out [bucket]
};

/// Every token is written: -1 for a pad row, for one that is not wanted, for a row with a NaN or with nothing above
/// -inf, and for a row whose temperature is negative or NaN or whose top_p is NaN. Nothing of pad rows is looked at.
///
/// The weight of an id is exp((logit - max) / temperature): 1 for the largest, +inf included, 0 for -inf. Logits equal
/// to the last one that top-k or top-p keeps stay too, so what is kept is a matter of values and never of ids. Top-p's
/// share is that of what top-k left. The draw takes the first id, in rising order, at which the sum of the kept
/// weights passes u times their sum; u is sample_uniform's. Sums are fp32 over 32 runs on the device, fp64 on
/// the host: the same u may give neighbours where it falls on an edge.
extern const Op<SampleArgs> sample;

/// The uniform in [0, 1) that a row of this seed and offset draws: that of verify_draft's request 0 at position 0.
[[nodiscard]] constexpr float sample_uniform(std::uint64_t seed, std::uint64_t offset) noexcept {
  return draft_uniform(seed, offset, 0, 0, Draw::next);
}

}  // namespace refrain
