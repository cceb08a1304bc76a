// Sparse MLA: each query row attends the records that its index list names. -1 is
// no entry, entries at or past the row's length are garbage and never dereferenced,
// and neither is an index that is not a slot of the pool. What is not attended
// enters the products as zeros, put there by the load. A row whose every score is
// -inf counts as one without entries. sparse_mla_prefill writes whole rows;
// sparse_mla_decode writes split partials that merge_mla joins.
#pragma once

#include "kernels/mla_pool_view.hpp"
#include "kernels/op.hpp"

namespace refrain {

/// Rows up to which the split decode serves a step; more go to the prefill kernel.
inline constexpr std::int32_t kMlaDecodeRows = 64;

/// Known bugs of others, each brought back by name; all off in a step as it should be. With one of the first three on,
/// the whole list is walked and every split is written, as those kernels do.
struct SparseMlaFaults {
  bool clamp_to_slot0 = false;     ///< what is not attended gathers slot 0's bytes and is masked in the score alone
  bool neg_inf_max = false;        ///< running max starts at -inf and is subtracted unguarded: -inf - -inf
  bool mask_before_scale = false;  ///< the sentinel -1e30 is scaled after masking; with clamp_to_slot0 p = 1 on slot 0
  bool past_length = false;        ///< lengths are ignored
};

struct SparseMlaArgs {
  const void* q = nullptr;  ///< [rows, heads, pool.dim()] bf16: nope then rope
  MlaPoolView pool;
  std::uint64_t zeroed_bytes = 0;  ///< bytes from pool.data that must be `zeroed`: page 0 of a page_split scratch
  const std::int32_t* indices = nullptr;    ///< [rows, topk]: slots, -1 = none, in any order
  const std::int32_t* lengths = nullptr;    ///< [rows]: entries of the row's list; null: topk each
  const std::int32_t* real_rows = nullptr;  ///< [1]: rows at or past it are pad rows: O = 0, LSE = -inf, no sink
  const float* sinks = nullptr;             ///< [heads], natural logarithm, or null: a key without a value
  float softmax_scale = 0;
  std::int32_t rows = 0, heads = 0, topk = 0;
  std::int32_t chunk = 64;  ///< index entries a tile: 16, 32 or 64 on the host; the CUDA kernels' is 64
  SparseMlaFaults faults;

  // sparse_mla_prefill
  void* out = nullptr;   ///< [rows, heads, 512] bf16: 0 for a row without entries
  float* lse = nullptr;  ///< [rows, heads]: natural, the sink in it; -inf for a row without entries and sink
  float* max_logits =
      nullptr;  ///< [rows, heads] or null: largest scaled score, the sink not in it; -inf without entries

  // sparse_mla_decode: split s covers entries [s * split_entries, (s + 1) * split_entries)
  std::int32_t splits = 0, split_entries = 0;  ///< split_entries is a multiple of chunk; splits * split_entries >= topk
  float* partials = nullptr;     ///< [rows, heads, splits, 512]: normalised; a split without entries is not written
  float* partial_lse = nullptr;  ///< [rows, heads, splits]: natural, no sink; -inf for a split without entries
  float* partial_max = nullptr;  ///< [rows, heads, splits] or null
};

/// Every row of out, lse and max_logits is written.
extern const Op<SparseMlaArgs> sparse_mla_prefill;
/// Every element of partial_lse and partial_max is written; partials are a `may` write.
extern const Op<SparseMlaArgs> sparse_mla_decode;

}  // namespace refrain
