// The numbers of an attention-only model with random weights: layers of three kinds in
// turn, the geometry of each, and what its tensors, pages and splits follow from. It
// owns nothing. Whether the kernels take them is said here, once, in words.
#pragma once

#include "kernels/kv_pool_view.hpp"
#include "kernels/mla_pool_view.hpp"
#include "kernels/page_split.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/xqa_splits.hpp"
#include "runtime/model/phase_size.hpp"

namespace refrain {

/// dense: every token up to the row's own. sparse: selected blocks of 4 tokens. mla: selected latent records.
enum class LayerKind : std::uint8_t { dense, sparse, mla };
inline constexpr std::int32_t kLayerKinds = 3;
[[nodiscard]] const char* to_string(LayerKind) noexcept;

/// What a layer's projections and its attention agree on.
struct LayerGeometry {
  std::int32_t heads = 0, kv_heads = 0;
  std::int32_t dim = 0;        ///< of a query and key head
  std::int32_t value_dim = 0;  ///< of an attended head
  Dtype dtype = Dtype::bf16;   ///< of the layer's weights and activations
};

struct MlaSplitting {
  std::int32_t splits = 0, entries = 0;  ///< of the decode route: so many splits of so many index entries
};

struct AttentionOnlyShape {
  std::int32_t layers = 3, width = 256, vocab = 1000;
  std::int32_t heads = 4, kv_heads = 1, dim = 64;  ///< of dense layers; the sparse ones have 6 heads on 1 of dim 256
  std::int32_t page_size = 64;                     ///< tokens a page in every layer; MLA takes 64 or 256
  Dtype kv = Dtype::bf16;                          ///< of dense and sparse layers: fp16, bf16 or e4m3
  MlaRecord record = MlaRecord::e4m3_584;
  std::int32_t blocks = kSelectedBlocks;  ///< of 4 tokens that a row of a sparse layer attends, and its causal tail
  std::int32_t sink_blocks = 4;           ///< of them at the request's start
  std::int32_t topk = 512;                ///< tokens that a row of an MLA layer attends; a multiple of 64
  std::int32_t sink_tokens = 16;
  /// The fewest that a split of xqa_decode covers, but a row's last.
  std::int32_t partition_tokens = kModelSplitTokens;
  std::uint64_t seed = 1;                        ///< of the weights: equal seeds and shapes are equal models
  bool allow_e4m3_mtp = false;                   ///< E4M3 KV under a draft is admitted only where somebody says so
  std::int64_t gemm_workspace_bytes = 32 << 20;  ///< that cuBLASLt may use, a phase; the host driver has no use for it

  /// Of the residual stream: fp16, or bf16 over a bf16 cache.
  [[nodiscard]] Dtype dtype() const noexcept { return kv == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16; }
  [[nodiscard]] static LayerKind kind(std::int32_t layer) noexcept {
    return static_cast<LayerKind>(layer % kLayerKinds);
  }
  /// Layers of the kind.
  [[nodiscard]] std::int32_t count(LayerKind kind) const noexcept {
    return (layers + kLayerKinds - 1 - static_cast<std::int32_t>(kind)) / kLayerKinds;
  }
  [[nodiscard]] LayerGeometry geometry(LayerKind kind) const noexcept;
  /// The most splits of a row of a dense or sparse layer in a context of so many tokens. Rows are cut alike whatever
  /// the context limit.
  [[nodiscard]] std::int32_t partitions(LayerKind kind, std::int32_t context) const noexcept;
  [[nodiscard]] MlaSplitting mla_splitting() const noexcept;
  /// MLA layers attend a scratch of 64-token pages, made anew in each.
  [[nodiscard]] bool splits_pages() const noexcept {
    return record == MlaRecord::e4m3_584 && page_size == kSplitSourceTokens;
  }
  /// One layer's pool, `data` null: of a dense or sparse layer, and of an MLA layer.
  [[nodiscard]] KvPoolView pool(LayerKind kind, std::int32_t pages) const noexcept;
  [[nodiscard]] MlaPoolView mla_pool(std::int32_t pages) const noexcept { return {nullptr, pages, page_size, record}; }
  /// What page_split fills; `data` null.
  [[nodiscard]] MlaPoolView split_scratch(std::int32_t pages) const noexcept {
    return {nullptr, std::int64_t{pages} * kSplitParts, kSplitTokens, record};
  }
};

/// Whole groups of 8 rows take the grouped route: in prefill, where there can be one.
[[nodiscard]] constexpr bool is_grouped(const StepShape& step) noexcept {
  return step.phase == Phase::prefill && step.rows >= kGroupRows;
}

/// Why no such model is made, in one line with what would be admitted; empty when it is.
[[nodiscard]] std::string unfit(const AttentionOnlyShape& shape, const ServingLimits& limits);
/// Why a step of this shape is not admitted, likewise.
[[nodiscard]] std::string refusal_of(const AttentionOnlyShape& shape, const ServingLimits& limits,
                                     const StepShape& step);

}  // namespace refrain
