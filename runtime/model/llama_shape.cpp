#include "runtime/model/llama_shape.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace refrain {
namespace {

// What xqa_decode and sample are built for: kernels/device/xqa_shape.cuh, kernels/sample.hpp.
constexpr std::int32_t kHeadsOfOneKvHead = 16, kLargestVocab = 1 << 23;

std::string unfit_shape(const LlamaShape& s) {
  const std::int32_t least =
      std::min({s.layers, s.width, s.heads, s.kv_heads, s.ffn, s.vocab, s.page_size, s.partition_tokens});
  if (least < 1)
    return fmt::format(
        "layers {}, width {}, heads {}, KV heads {}, ffn {}, vocab {}, page size {} and partition tokens {} must all "
        "be at least 1",
        s.layers, s.width, s.heads, s.kv_heads, s.ffn, s.vocab, s.page_size, s.partition_tokens);
  if (s.dim != 64 && s.dim != 128 && s.dim != 256)
    return fmt::format("head dim {}: the attention kernels take 64, 128 and 256", s.dim);
  if (s.heads % s.kv_heads != 0 || s.heads / s.kv_heads > kHeadsOfOneKvHead)
    return fmt::format("{} query heads on {} KV heads: a KV head serves a whole number of query heads, at most {}",
                       s.heads, s.kv_heads, kHeadsOfOneKvHead);
  if (s.page_size % 4 != 0) return fmt::format("pages of {} tokens: the page size is a multiple of 4", s.page_size);
  if (s.kv != Dtype::fp16 && s.kv != Dtype::bf16 && s.kv != Dtype::e4m3)
    return fmt::format("a KV cache of {}: it is fp16, bf16 or e4m3", to_string(s.kv));
  if (s.vocab > kLargestVocab) return fmt::format("a vocabulary of {}: at most {}", s.vocab, kLargestVocab);
  if (s.gemm_workspace_bytes < 0) return fmt::format("a GEMM workspace of {} bytes: 0 or more", s.gemm_workspace_bytes);
  return {};
}

/// xqa_decode has a block for each row, split and KV head, in one dimension of its grid.
std::string unfit_grid(const LlamaShape& s, const ServingLimits& limits) {
  for (const Phase phase : kPhases) {
    const std::int64_t row = std::int64_t{s.partitions(limits.context)} * s.kv_heads;
    if (const std::int32_t rows = size_of(limits, phase).rows; rows > INT32_MAX / row)
      return fmt::format(
          "{} {} rows x {} splits x {} KV heads are over 2^31 - 1 blocks of one launch; take fewer rows or partitions "
          "of more than {} tokens",
          rows, to_string(phase), s.partitions(limits.context), s.kv_heads, s.partition_tokens);
  }
  return {};
}

}  // namespace

std::string unfit(const LlamaShape& shape, const ServingLimits& limits) {
  if (auto why = unfit_shape(shape); !why.empty()) return why;
  if (auto why = unfit_limits(limits); !why.empty()) return why;
  return unfit_grid(shape, limits);
}

std::string refusal_of(const LlamaShape& shape, const ServingLimits& limits, const StepShape& step) {
  if (auto why = outside_limits(limits, step); !why.empty()) return why;
  if (step.phase == Phase::verify && shape.kv == Dtype::e4m3 && !shape.allow_e4m3_mtp)
    return "verify over an E4M3 KV cache is opt-in; serve fp16 or bf16 KV, or set allow_e4m3_mtp";
  return {};
}

}  // namespace refrain
