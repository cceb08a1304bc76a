#include "bench/step_floor.hpp"

#include <algorithm>

namespace refrain::bench {

LayerFloor floor_of(const LlamaShape& s, const DecodeShape& decode, const StepCeilings& ceilings) {
  struct Product {
    std::int64_t n, k;
  };
  const std::int64_t attended = std::int64_t{s.heads} * s.dim;
  const Product products[] = {{std::int64_t{s.qkv_heads()} * s.dim, s.width},
                              {s.width, attended},
                              {std::int64_t{2} * s.ffn, s.width},
                              {s.width, s.ffn}};
  LayerFloor floor;
  for (const Product& p : products) {
    const std::int64_t bytes = p.n * p.k * static_cast<std::int64_t>(dtype_bytes(s.dtype()));
    const double flops = 2.0 * decode.batch * static_cast<double>(p.n * p.k);
    floor.weight_bytes += bytes;
    floor.gemms_us +=
        std::max(static_cast<double>(bytes) / ceilings.read_gbps * 1e-3, flops / ceilings.tensor_tflops * 1e-6);
  }
  floor.kv_bytes = std::int64_t{decode.batch} * decode.context * 2 * s.kv_heads * s.dim *
                   static_cast<std::int64_t>(dtype_bytes(s.kv));
  floor.kv_us = static_cast<double>(floor.kv_bytes) / ceilings.read_gbps * 1e-3;
  return floor;
}

}  // namespace refrain::bench
