// merge_partials: the splits of xqa_decode to one output row. Empty splits are
// skipped by predicate, never by weight 0: an unwritten partial is not loaded.
// A counter that is not the number of splits with tokens means that a split is
// missing or counted twice (a scratch that was not zeroed): the row comes out as
// NaN, because a plausible number would be worse.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct MergePartialsArgs {
  const void* partials = nullptr;  ///< [slots, heads, partitions, dim], `partial_dtype`
  Dtype partial_dtype = Dtype::fp32;
  const float* partial_lse = nullptr;       ///< [slots, heads, partitions]
  const std::int32_t* counters = nullptr;   ///< [slots, heads]
  const std::int32_t* slot_rows = nullptr;  ///< [slots]
  const std::int32_t* lengths = nullptr;    ///< [slots]
  std::int32_t slots = 0, heads = 0, partitions = 0, partition_tokens = 0, dim = 0, bucket = 0;
  bool every_row = true;  ///< slots == bucket and slot s serves row s: every row is written
  Dtype out_dtype = Dtype::fp16;
  void* out = nullptr;   ///< [bucket, heads, dim]
  float* lse = nullptr;  ///< [bucket, heads]: natural; -inf for length 0, whose O is 0
};

/// Writes every row when `every_row`, else the rows that slot_rows names (a `may` write).
extern const Op<MergePartialsArgs> merge_partials;

}  // namespace refrain
