// The decoder in fp64, a whole request at once: no pages, no splits, no batch, and
// number formats of its own. It rounds where the ops store (activations, keys and
// values), so what is left between it and the ops is the order of fp32 sums. It shares
// nothing with them but the weights, read back from the device.
#pragma once

#include <vector>

#include "runtime/model/llama.hpp"

namespace refrain::test {

/// What an oracle gets wrong on purpose, to see that the comparison sees it.
enum class Wrong {
  nothing,
  rope,            ///< positions one too high for keys
  window,          ///< the newest token is not attended
  kv_heads,        ///< every query head reads KV head 0
  residual,        ///< the attention's half is not added
  layers,          ///< the last layer is left out
  attention_norm,  ///< without its weight
  gate,            ///< silu of up, times gate
  kv_scale,        ///< V's scale is applied when it is read and not when it is stored
};

class LlamaOracle {
 public:
  LlamaOracle(Driver& driver, const LlamaModel& model);

  /// [tokens][vocab]: the logits after each token.
  [[nodiscard]] std::vector<std::vector<double>> logits(const std::vector<std::int32_t>& tokens,
                                                        Wrong wrong = Wrong::nothing) const;

 private:
  using Row = std::vector<double>;
  struct Layer {
    Row attention_norm, ffn_norm, q, k, v, o, gate_up, down;
    double k_scale = 1, v_scale = 1;
  };
  void attend(const Layer& layer, std::vector<Row>& residual, Wrong wrong) const;
  void feed_forward(const Layer& layer, std::vector<Row>& residual, Wrong wrong) const;
  [[nodiscard]] Row norm(const Row& x, const Row& weight) const;
  [[nodiscard]] Row linear(const Row& x, const Row& w, bool rounded = true) const;
  void turn(Row& heads, std::int64_t position) const;
  [[nodiscard]] double stored(double value, double scale) const;
  void add(Row& residual, const Row& branch) const;

  LlamaShape shape_;
  Row embedding_, final_norm_, head_;
  std::vector<Layer> layers_;
};

}  // namespace refrain::test
