// The attention-only model in a ModelWorld, small shapes of it, and how far its logits
// may lie from the oracle's.
#pragma once

#include "runtime/model/attention_only.hpp"
#include "tests/runtime/model/model_world.hpp"

namespace refrain::test {

class AttentionOnlyWorld final : public ModelWorld {
 public:
  AttentionOnlyWorld(Driver& driver, const AttentionOnlyShape& shape, const ServingLimits& limits);
  [[nodiscard]] AttentionOnlyModel& model() { return static_cast<AttentionOnlyModel&>(ModelWorld::model()); }
};

/// Every KV dtype and record format once, with pages of 64 tokens and of 256, which are split.
struct AttentionOnlyCase {
  Dtype kv;
  MlaRecord record;
  std::int32_t page_size;
};
inline constexpr AttentionOnlyCase kAttentionOnlyCases[] = {{Dtype::bf16, MlaRecord::e4m3_584, 256},
                                                            {Dtype::fp16, MlaRecord::bf16, 64},
                                                            {Dtype::e4m3, MlaRecord::e4m3_656, 64},
                                                            {Dtype::e4m3, MlaRecord::e4m3_584, 64}};

/// A layer of each kind; selections of 9 blocks and of 64 tokens, which prompts of 70 tokens and more fill.
[[nodiscard]] AttentionOnlyShape small_attention_only(const AttentionOnlyCase& c, std::uint64_t seed);
[[nodiscard]] ServingLimits attention_only_limits();

/// The largest |logit - oracle| of a row, in units of what rounded softmax weights and the order of fp32 sums may do to
/// a row of logits about N(0, 1): 0.018 for fp16, 0.05 for E4M3, 0.09 for bf16. That is about twice what 14 runs came
/// to. NaN counts as infinite.
[[nodiscard]] double attention_only_distance(const std::vector<float>& logits, const std::vector<double>& oracle,
                                             Dtype kv);

}  // namespace refrain::test
