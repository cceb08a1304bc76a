// The numbers of a Llama-shaped decoder with random weights: what its tensors' shapes,
// its KV pages and its splits follow from. It owns nothing. Whether the kernels take
// them is said here, once, in words.
#pragma once

#include "kernels/kv_pool_view.hpp"
#include "kernels/xqa_splits.hpp"
#include "runtime/model/phase_size.hpp"

namespace refrain {

struct LlamaShape {
  std::int32_t layers = 2, width = 256, heads = 4, kv_heads = 1, dim = 64, ffn = 512, vocab = 1000;
  std::int32_t page_size = 16;  ///< tokens
  Dtype kv = Dtype::fp16;       ///< fp16, bf16 or e4m3
  double theta = 10'000;        ///< of rope
  std::uint64_t seed = 1;       ///< of the weights: equal seeds and shapes are equal models
  /// The fewest that a split of xqa_decode covers, but a row's last.
  std::int32_t partition_tokens = kModelSplitTokens;
  bool allow_e4m3_mtp = false;                   ///< E4M3 KV under a draft is admitted only where somebody says so
  std::int64_t gemm_workspace_bytes = 32 << 20;  ///< that cuBLASLt may use, a phase; the host driver has no use for it

  /// Of weights and activations: fp16, or bf16 over a bf16 cache.
  [[nodiscard]] Dtype dtype() const noexcept { return kv == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16; }
  /// Of one token's q, k and v, which one GEMM makes.
  [[nodiscard]] std::int32_t qkv_heads() const noexcept { return heads + 2 * kv_heads; }
  /// The most splits of a row of a context of so many tokens. Rows are cut alike whatever the context limit.
  [[nodiscard]] std::int32_t partitions(std::int32_t context) const noexcept {
    return splits_within({most_splits_of_row(kv_heads, kv), partition_tokens}, context);
  }
  /// One layer's pool; `data` is null.
  [[nodiscard]] KvPoolView pool(std::int32_t pages) const noexcept {
    return {nullptr, pages, page_size, kv_heads, dim, kv};
  }
};

/// Why no such model is made, in one line with what would be admitted; empty when it is.
[[nodiscard]] std::string unfit(const LlamaShape& shape, const ServingLimits& limits);
/// Why a step of this shape is not admitted, likewise.
[[nodiscard]] std::string refusal_of(const LlamaShape& shape, const ServingLimits& limits, const StepShape& step);

}  // namespace refrain
