// merge_mla: the splits of sparse_mla_decode, and the sink, to one output row. A
// split whose LSE is -inf is skipped by predicate: its partial is never loaded.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct MergeMlaArgs {
  const float* partials = nullptr;          ///< [rows, heads, splits, 512]
  const float* partial_lse = nullptr;       ///< [rows, heads, splits]: natural
  const float* partial_max = nullptr;       ///< [rows, heads, splits] or null
  const std::int32_t* real_rows = nullptr;  ///< [1]: pad rows get O = 0, LSE = -inf, no sink
  const float* sinks = nullptr;             ///< [heads] or null
  std::int32_t rows = 0, heads = 0, splits = 0;
  bool empty_by_value =
      false;             ///< the fault `merge-empty-by-value`: an empty split weighs 0 and is multiplied all the same
  void* out = nullptr;   ///< [rows, heads, 512] bf16
  float* lse = nullptr;  ///< [rows, heads]
  float* max_logits = nullptr;  ///< [rows, heads] or null
};

/// Every row is written. Reads of partials are `may` with their whole range.
extern const Op<MergeMlaArgs> merge_mla;

}  // namespace refrain
