#include "runtime/model/llama_weights.hpp"

#include "runtime/model/weight_writer.hpp"

namespace refrain {
namespace {

/// Keys and values are about N(0, 1): so scaled, they use E4M3's range (448) and few are subnormal. The two differ, so
/// that it shows where one is taken for the other.
constexpr float kE4m3KeyScale = 1.0f / 32, kE4m3ValueScale = 1.0f / 48;

void write_layer(WeightWriter& weights, const LlamaLayer& layer, const LlamaShape& s) {
  weights.norm(layer.attention_norm, s.dtype(), s.width);
  weights.matrix(layer.qkv, s.dtype(), std::int64_t{s.qkv_heads()} * s.dim, s.width);
  weights.matrix(layer.o, s.dtype(), s.width, std::int64_t{s.heads} * s.dim);
  weights.norm(layer.ffn_norm, s.dtype(), s.width);
  weights.matrix(layer.gate_up, s.dtype(), std::int64_t{2} * s.ffn, s.width);
  weights.matrix(layer.down, s.dtype(), s.width, s.ffn);
}

}  // namespace

void load_llama(Driver& driver, const LlamaMemory& memory, const LlamaShape& s, const ServingLimits& limits) {
  WeightWriter weights(driver, s.seed);
  weights.table(memory.embedding, s.dtype(), s.vocab, s.width);
  const bool e4m3 = s.kv == Dtype::e4m3;
  const std::vector<float> scales = {e4m3 ? kE4m3KeyScale : 1.0f, e4m3 ? kE4m3ValueScale : 1.0f};
  for (const LlamaLayer& layer : memory.layers) {
    write_layer(weights, layer, s);
    write_array(driver, layer.scales, scales);
    check(driver.fill(layer.pool.address(), 0xFF, s.pool(limits.pages).bytes(), Stream{}), "cudaMemsetAsync");
  }
  weights.norm(memory.final_norm, s.dtype(), s.width);
  weights.matrix(memory.head, s.dtype(), s.vocab, s.width);
  settle_writes(driver);
}

}  // namespace refrain
