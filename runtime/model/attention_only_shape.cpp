#include "runtime/model/attention_only_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace refrain {
namespace {

// What the kernels are built for: kernels/device/xqa_shape.cuh, mla_launch.cuh, kernels/sample.hpp.
constexpr std::int32_t kHeadsOfOneKvHead = 16, kLargestVocab = 1 << 23, kMlaChunk = 64;
constexpr std::int32_t kSparseDim = 256, kMlaHeads = 16, kMlaSplitsARow = 16;

std::string unfit_numbers(const AttentionOnlyShape& s) {
  const std::int32_t least = std::min({s.layers, s.width, s.vocab, s.heads, s.kv_heads, s.partition_tokens});
  if (least < 1)
    return fmt::format(
        "layers {}, width {}, vocab {}, heads {}, KV heads {} and partition tokens {} must all be at least 1", s.layers,
        s.width, s.vocab, s.heads, s.kv_heads, s.partition_tokens);
  if (s.dim != 64 && s.dim != 128 && s.dim != 256)
    return fmt::format("head dim {}: the attention kernels take 64, 128 and 256", s.dim);
  if (s.heads % s.kv_heads != 0 || s.heads / s.kv_heads > kHeadsOfOneKvHead)
    return fmt::format("{} query heads on {} KV heads: a KV head serves a whole number of query heads, at most {}",
                       s.heads, s.kv_heads, kHeadsOfOneKvHead);
  if (s.kv != Dtype::fp16 && s.kv != Dtype::bf16 && s.kv != Dtype::e4m3)
    return fmt::format("a KV cache of {}: it is fp16, bf16 or e4m3", to_string(s.kv));
  if (s.vocab > kLargestVocab) return fmt::format("a vocabulary of {}: at most {}", s.vocab, kLargestVocab);
  if (s.gemm_workspace_bytes < 0) return fmt::format("a GEMM workspace of {} bytes: 0 or more", s.gemm_workspace_bytes);
  return {};
}

std::string unfit_selection(const AttentionOnlyShape& s) {
  if (s.page_size != kSplitTokens && s.page_size != kSplitSourceTokens)
    return fmt::format("pages of {} tokens: {}, or {}, which e4m3_584 records are split from", s.page_size,
                       kSplitTokens, kSplitSourceTokens);
  if (s.blocks < 1 || s.blocks > kSelectedBlocks)
    return fmt::format("{} blocks a row: 1 to {}, which is what a selection holds", s.blocks, kSelectedBlocks);
  if (s.sink_blocks < 0 || s.sink_blocks > s.blocks)
    return fmt::format("{} sink blocks: 0 to the blocks of a row, which are {}", s.sink_blocks, s.blocks);
  if (s.topk < kMlaChunk || s.topk % kMlaChunk != 0)
    return fmt::format("topk {}: a multiple of {}, the tile of sparse MLA", s.topk, kMlaChunk);
  if (s.sink_tokens < 0 || s.sink_tokens > s.topk)
    return fmt::format("{} sink tokens: 0 to topk, which is {}", s.sink_tokens, s.topk);
  return {};
}

/// Slots of an MLA layer are int32 (so microblock ids fit their 30 bits), and a grid has one dimension of 2^31 - 1
/// blocks.
std::string unfit_sizes(const AttentionOnlyShape& s, const ServingLimits& limits) {
  if (const std::int32_t most = INT32_MAX / s.page_size; limits.pages > most)
    return fmt::format("{} KV pages of {} tokens: every slot of an MLA layer has a number below 2^31, so at most {}",
                       limits.pages, s.page_size, most);
  for (const Phase phase : kPhases) {
    const std::int64_t blocks = std::int64_t{s.partitions(LayerKind::dense, limits.context)} * s.kv_heads;
    if (const std::int32_t rows = size_of(limits, phase).rows; rows > INT32_MAX / blocks)
      return fmt::format(
          "{} {} rows x {} splits x {} KV heads are over 2^31 - 1 blocks of one launch; take fewer rows or partitions "
          "of more than {} tokens",
          rows, to_string(phase), blocks / s.kv_heads, s.kv_heads, s.partition_tokens);
  }
  return {};
}

}  // namespace

const char* to_string(LayerKind kind) noexcept {
  switch (kind) {
    case LayerKind::dense: return "dense";
    case LayerKind::sparse: return "sparse";
    case LayerKind::mla: return "mla";
  }
  return "?";
}

LayerGeometry AttentionOnlyShape::geometry(LayerKind kind) const noexcept {
  switch (kind) {
    case LayerKind::dense: return {heads, kv_heads, dim, dim, dtype()};
    case LayerKind::sparse: return {kGroupedHeads, 1, kSparseDim, kSparseDim, dtype()};
    case LayerKind::mla: return {kMlaHeads, 1, mla_pool(1).dim(), kMlaValueDim, Dtype::bf16};
  }
  return {};
}

std::int32_t AttentionOnlyShape::partitions(LayerKind kind, std::int32_t context) const noexcept {
  const std::int32_t selected = kMicroblockTokens * (blocks + 1) - 1;  // the tail with them
  const std::int32_t attended = kind == LayerKind::sparse ? std::min(context, selected) : context;
  return splits_within({most_splits_of_row(geometry(kind).kv_heads, kv), partition_tokens}, attended);
}

MlaSplitting AttentionOnlyShape::mla_splitting() const noexcept {
  const std::int32_t chunks = topk / kMlaChunk, each = (chunks + kMlaSplitsARow - 1) / kMlaSplitsARow;
  return {(chunks + each - 1) / each, each * kMlaChunk};
}

KvPoolView AttentionOnlyShape::pool(LayerKind kind, std::int32_t pages) const noexcept {
  const LayerGeometry g = geometry(kind);
  return {nullptr, pages, page_size, g.kv_heads, g.dim, kv};
}

std::string unfit(const AttentionOnlyShape& shape, const ServingLimits& limits) {
  if (auto why = unfit_numbers(shape); !why.empty()) return why;
  if (auto why = unfit_selection(shape); !why.empty()) return why;
  if (auto why = unfit_limits(limits); !why.empty()) return why;
  return unfit_sizes(shape, limits);
}

std::string refusal_of(const AttentionOnlyShape& shape, const ServingLimits& limits, const StepShape& step) {
  if (auto why = outside_limits(limits, step); !why.empty()) return why;
  if (step.phase == Phase::verify && shape.kv == Dtype::e4m3 && !shape.allow_e4m3_mtp)
    return "verify over an E4M3 KV cache is opt-in; serve fp16 or bf16 KV, or set allow_e4m3_mtp";
  return {};
}

}  // namespace refrain
