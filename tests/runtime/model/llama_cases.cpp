#include "tests/runtime/model/llama_cases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace refrain::test {

LlamaShape small_llama(Dtype kv, std::uint64_t seed) {
  LlamaShape shape{.layers = 2, .width = 72, .heads = 4, .kv_heads = 2, .dim = 64, .ffn = 104, .vocab = 131};
  shape.page_size = 8;
  shape.kv = kv;
  shape.seed = seed;
  shape.partition_tokens = 12;
  shape.allow_e4m3_mtp = true;
  shape.gemm_workspace_bytes = 1 << 20;
  return shape;
}

LlamaShape random_llama(Dtype kv, Random& random) {
  const auto one_of = [&](std::initializer_list<std::int32_t> values) {
    return values.begin()[random() % values.size()];
  };
  LlamaShape shape = small_llama(kv, random());
  shape.layers = one_of({1, 2, 3});
  shape.width = one_of({64, 72, 120});
  shape.kv_heads = one_of({1, 2});
  shape.heads = shape.kv_heads * one_of({1, 2, 3});
  shape.dim = one_of({64, 128});
  shape.ffn = one_of({64, 104, 200});
  shape.vocab = one_of({61, 131, 257});
  shape.page_size = one_of({4, 8, 16});
  shape.theta = one_of({100, 10'000, 500'000});
  shape.partition_tokens = one_of({5, 12, 16, 256});
  return shape;
}

ServingLimits small_limits() {
  return {.context = 48,
          .pages = 96,
          .decode_rows = 6,
          .prefill_tokens = 40,
          .prefill_requests = 4,
          .verify_requests = 4,
          .drafts = 3};
}

std::int32_t largest(const std::vector<float>& logits) {
  return static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double distance(const std::vector<float>& logits, const std::vector<double>& oracle, Dtype kv) {
  double worst = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double away = std::abs(static_cast<double>(logits[i]) - oracle[i]);
    worst = std::isnan(away) ? std::numeric_limits<double>::infinity() : std::max(worst, away);
  }
  return worst / (kv == Dtype::fp16 ? 0.015 : 0.09);
}

std::uint64_t fresh_seed() {
  return std::random_device{}();
}

}  // namespace refrain::test
