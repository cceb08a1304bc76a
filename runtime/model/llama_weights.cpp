#include "runtime/model/llama_weights.hpp"

#include <cmath>
#include <random>

#include "kernels/codec.hpp"
#include "runtime/transfer.hpp"

namespace refrain {
namespace {

/// Keys and values are about N(0, 1): so scaled, they use E4M3's range (448) and few are subnormal.
constexpr float kE4m3Scale = 1.0f / 32;

class WeightWriter {
 public:
  WeightWriter(Driver& driver, const LlamaShape& shape) : driver_(driver), random_(shape.seed), dtype_(shape.dtype()) {}

  /// A row gives one sum of `fan_in` products.
  void matrix(const Lease& to, std::int64_t rows, std::int64_t fan_in) {
    write(to, rows * fan_in, 0, 1 / std::sqrt(static_cast<double>(fan_in)));
  }
  /// Rows are looked up, not multiplied.
  void table(const Lease& to, std::int64_t rows, std::int64_t width) { write(to, rows * width, 0, 1); }
  void norm(const Lease& to, std::int64_t width) { write(to, width, 1, 0.1); }

 private:
  void write(const Lease& to, std::int64_t count, double mean, double deviation) {
    std::normal_distribution<float> normal(static_cast<float>(mean), static_cast<float>(deviation));
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * dtype_bytes(dtype_));
    for (std::int64_t i = 0; i < count; ++i) store_from_float(bytes.data(), dtype_, i, normal(random_));
    write_device(driver_, to.address(), bytes);
  }

  Driver& driver_;
  std::mt19937_64 random_;
  Dtype dtype_;
};

void write_layer(WeightWriter& weights, const LlamaLayer& layer, const LlamaShape& s) {
  const std::int64_t q = std::int64_t{s.heads} * s.dim, kv = std::int64_t{s.kv_heads} * s.dim;
  weights.norm(layer.attention_norm, s.width);
  weights.matrix(layer.q, q, s.width);
  weights.matrix(layer.k, kv, s.width);
  weights.matrix(layer.v, kv, s.width);
  weights.matrix(layer.o, s.width, q);
  weights.norm(layer.ffn_norm, s.width);
  weights.matrix(layer.gate_up, std::int64_t{2} * s.ffn, s.width);
  weights.matrix(layer.down, s.width, s.ffn);
}

}  // namespace

void load_llama(Driver& driver, const LlamaMemory& memory, const LlamaShape& s, const ServingLimits& limits) {
  WeightWriter weights(driver, s);
  weights.table(memory.embedding, s.vocab, s.width);
  const float scale = s.kv == Dtype::e4m3 ? kE4m3Scale : 1.0f;
  for (const LlamaLayer& layer : memory.layers) {
    write_layer(weights, layer, s);
    write_array(driver, layer.scales, std::vector<float>{scale, scale});
    check(driver.fill(layer.pool.address(), 0xFF, s.pool(limits.pages).bytes(), Stream{}), "cudaMemsetAsync");
  }
  weights.norm(memory.final_norm, s.width);
  weights.matrix(memory.head, s.vocab, s.width);
  settle_writes(driver);
}

}  // namespace refrain
