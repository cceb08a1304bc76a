// The attention-only model in fp64, a whole request at once: no pages, no plans, no
// splits, no batch, and number formats and geometry of its own. It rounds where the ops
// store (activations, keys, values, records); what is left between it and the ops is
// the rounding of softmax weights and the order of fp32 sums. It shares nothing with
// them but the weights, read back from the device.
#pragma once

#include <vector>

#include "runtime/model/attention_only.hpp"

namespace refrain::test {

/// What an oracle gets wrong on purpose, to see that the comparison sees it.
enum class WrongAttention {
  nothing,
  window,       ///< dense: the newest token is not attended
  blocks,       ///< sparse: one block fewer
  sink_blocks,  ///< sparse: one sink fewer, and one recent block more
  tail,         ///< sparse: no causal tail
  topk,         ///< mla: a few tokens fewer
  sink_tokens,  ///< mla: one sink fewer, and one recent token more
  rope,         ///< mla: the last 64 values of a record are not scored
  kv_heads,     ///< dense: every query head reads KV head 0
  residual,     ///< the first layer is not added to
  layers,       ///< the last layer is left out
  norm,         ///< without its weight
};

class AttentionOnlyOracle {
 public:
  AttentionOnlyOracle(Driver& driver, const AttentionOnlyModel& model);

  /// [tokens][vocab]: the logits after each token.
  [[nodiscard]] std::vector<std::vector<double>> logits(const std::vector<std::int32_t>& tokens,
                                                        WrongAttention wrong = WrongAttention::nothing) const;

 private:
  using Row = std::vector<double>;
  struct Layer {
    int kind = 0;  ///< 0 dense, 1 sparse, 2 mla
    std::size_t heads = 0, kv_heads = 0, dim = 0, value_dim = 0;
    Dtype dtype = Dtype::bf16;
    Row norm, q, k, v, o;
    double k_scale = 1, v_scale = 1;
  };
  void add_layer(Driver& driver, const AttentionOnlyLayer& layer);
  void attend(const Layer& layer, std::vector<Row>& residual, WrongAttention wrong) const;
  [[nodiscard]] std::vector<std::size_t> attended(const Layer& layer, std::size_t seen, WrongAttention wrong) const;
  [[nodiscard]] Row head(const Layer& layer, const Row& q, std::size_t head, const std::vector<Row>& keys,
                         const std::vector<Row>& values, const std::vector<std::size_t>& tokens,
                         WrongAttention wrong) const;
  [[nodiscard]] Row record(const Row& latent) const;
  [[nodiscard]] Row norm(const Row& x, const Row& weight, bool weighted) const;

  AttentionOnlyShape shape_;
  Row embedding_, final_norm_, head_;
  std::vector<Layer> layers_;
};

}  // namespace refrain::test
