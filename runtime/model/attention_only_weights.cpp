#include "runtime/model/attention_only_weights.hpp"

#include "runtime/model/weight_writer.hpp"

namespace refrain {
namespace {

/// Keys and values are about N(0, 1): so scaled, they use E4M3's range (448) and few are subnormal.
constexpr float kE4m3Scale = 1.0f / 32;

void write_layer(WeightWriter& weights, const AttentionOnlyLayer& layer, const AttentionOnlyShape& s) {
  const LayerGeometry g = s.geometry(layer.kind);
  const std::int64_t keys = std::int64_t{g.kv_heads} * g.dim;
  weights.norm(layer.norm, s.dtype(), s.width);
  weights.matrix(layer.q, g.dtype, std::int64_t{g.heads} * g.dim, s.width);
  weights.matrix(layer.k, g.dtype, keys, s.width);
  if (layer.v) weights.matrix(layer.v, g.dtype, keys, s.width);
  weights.matrix(layer.o, g.dtype, s.width, std::int64_t{g.heads} * g.value_dim);
}

std::uint64_t pool_bytes(const AttentionOnlyShape& s, const ServingLimits& limits, LayerKind kind) {
  return kind == LayerKind::mla ? s.mla_pool(limits.pages).bytes() : s.pool(kind, limits.pages).bytes();
}

}  // namespace

void load_attention_only(Driver& driver, const AttentionOnlyMemory& memory, const AttentionOnlyShape& s,
                         const ServingLimits& limits) {
  WeightWriter weights(driver, s.seed);
  weights.table(memory.embedding, s.dtype(), s.vocab, s.width);
  const float scale = s.kv == Dtype::e4m3 ? kE4m3Scale : 1.0f;
  for (const AttentionOnlyLayer& layer : memory.layers) {
    write_layer(weights, layer, s);
    if (layer.scales) write_array(driver, layer.scales, std::vector<float>{scale, scale});
    check(driver.fill(layer.pool.address(), 0xFF, pool_bytes(s, limits, layer.kind), Stream{}), "cudaMemsetAsync");
  }
  weights.norm(memory.final_norm, s.dtype(), s.width);
  weights.matrix(memory.head, s.dtype(), s.vocab, s.width);
  settle_writes(driver);
}

}  // namespace refrain
