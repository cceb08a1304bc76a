// Small random shapes of the decoder and what tests ask of their outputs.
#pragma once

#include "tests/runtime/model/llama_oracle.hpp"
#include "tests/runtime/model/llama_world.hpp"

namespace refrain::test {

inline constexpr Dtype kKvDtypes[] = {Dtype::fp16, Dtype::bf16, Dtype::e4m3};

/// A geometry with more than one KV head and several splits in a context of 48 tokens.
[[nodiscard]] LlamaShape small_llama(Dtype kv, std::uint64_t seed);
/// Layers, heads, dim, pages and splits at random.
[[nodiscard]] LlamaShape random_llama(Dtype kv, Random& random);
[[nodiscard]] ServingLimits small_limits();

/// The lowest id of the largest logit.
[[nodiscard]] std::int32_t largest(const std::vector<float>& logits);

/// The largest |logit - oracle| of a row, in units of what the order of fp32 sums may do to a row of logits about
/// N(0, 1): 0.015 for fp16, 0.09 for bf16 and for E4M3, where a stored value now and then goes to a neighbour. That is
/// twice what 25 runs of three shapes each came to.
[[nodiscard]] double distance(const std::vector<float>& logits, const std::vector<double>& oracle, Dtype kv);

[[nodiscard]] std::uint64_t fresh_seed();

}  // namespace refrain::test
