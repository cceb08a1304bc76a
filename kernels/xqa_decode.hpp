// xqa_decode: split-K decode of one query row a slot, over sorted page-4 keys or
// over a dense page table (any page size that is a multiple of 4). It never reads
// a token at or past the slot's length, so tails, null block and garbage table
// entries stay out. A split leaves a normalised partial and its LSE and counts
// itself in; the one that completes its row merges all splits in their order, so
// a replay gives the same bits whichever was last.
#pragma once

#include "kernels/batch_view.hpp"
#include "kernels/kv_pool_view.hpp"
#include "kernels/op.hpp"
#include "kernels/plan_xqa.hpp"
#include "kernels/xqa_splits.hpp"

namespace refrain {

/// What each split of a row of `splits` splits adds to its counter; the row is complete when the counter is `splits`
/// times that. Odd and scattered over 32 bits, so that a counter which did not start at 0 completes nothing early:
/// of its 2^32 values `splits` - 1 would, and none that runs left behind (tests/kernels/xqa_merge_test.cpp).
[[nodiscard]] constexpr std::uint32_t split_ticket(std::uint32_t splits) noexcept {
  std::uint32_t x = splits * 0x9E3779B9u;
  x = (x ^ x >> 16) * 0x85EBCA6Bu;
  x = (x ^ x >> 13) * 0xC2B2AE35u;
  return (x ^ x >> 16) | 1u;
}

/// How rows of so many tokens are split for speed, when all are equally long.
struct XqaSplitting {
  std::int32_t partition_tokens = 0, partitions = 0;
  bool wide = false;
};

/// A wide block a multiprocessor where the rows' KV heads do not fill the device, so that merging costs least; else as
/// many splits as fill its last wave, of wide blocks where rows are long, else of narrow ones. The fewest tokens of a
/// split are 256: below, filling and merging cost more than they.
[[nodiscard]] XqaSplitting balanced_splitting(std::int32_t rows, const KvPoolView& pool, std::int32_t tokens,
                                              std::int32_t multiprocessors) noexcept;

struct XqaDecodeArgs {
  const void* q = nullptr;                          ///< [bucket, heads, dim], `q_dtype`
  Dtype q_dtype = Dtype::fp16;                      ///< fp16 or bf16
  KvPoolView pool;                                  ///< heads % kv_heads == 0; kv_heads == 1 when keys are given
  BatchView batch;                                  ///< page_table and token_to_req are read when keys is null
  const std::int64_t* keys = nullptr;               ///< [slots, kXqaSlots], or null: dense
  const std::int32_t* slot_rows = nullptr;          ///< [slots]; read when not every_row
  const std::int32_t* lengths = nullptr;            ///< [slots]
  const std::int32_t* active_partitions = nullptr;  ///< [1]
  const float* k_scale = nullptr;                   ///< [1]
  const float* v_scale = nullptr;                   ///< [1]
  float softmax_scale = 0;
  std::int32_t slots = 0, heads = 0;
  std::int32_t partitions = 0;        ///< the most splits of a row (SplitRule), and what the partials have room for
  std::int32_t partition_tokens = 0;  ///< the fewest tokens of a split that others follow
  void* partials = nullptr;           ///< scratch [slots, heads, partitions, dim], `partial_dtype`
  Dtype partial_dtype =
      Dtype::fp32;  ///< fp32; fp16 for fp16/bf16 pools is allowed, for E4M3 it is the fault `workspace-fp16` (rule 204)
  float* partial_lse = nullptr;      ///< scratch [slots, heads, partitions]
  std::int32_t* counters = nullptr;  ///< [slots, heads]: + split_ticket a split; needs `zeroed`
  bool every_row = true;             ///< slots == bucket and slot s serves row s: every row is written
  /// The kernel right ahead on the stream writes nothing of the plan and its tables (slot_rows, lengths,
  /// active_partitions, keys, token_to_req, page_table), and of the cache at most what this step's rows append, a
  /// request's at consecutive positions: an early launch reads the plan, and without keys the first tokens of earlier
  /// steps, before it waits (rule RF309).
  bool plan_is_done = false;
  /// Blocks of twice the warps, one a multiprocessor: for launches of few or long splits. Where a block may not have so
  /// much shared memory (before sm_90), the launch takes narrow ones. The bits depend on it, so it goes with the
  /// model and not with the bucket.
  bool wide = false;
  Dtype out_dtype = Dtype::fp16;
  void* out = nullptr;   ///< [bucket, heads, dim]
  float* lse = nullptr;  ///< [bucket, heads]: natural; -inf for length 0, whose O is 0
};

/// What a slot's keys, or its request's table, can name: past it nothing may be read.
[[nodiscard]] constexpr std::int64_t most_tokens(const XqaDecodeArgs& args) noexcept {
  return args.keys != nullptr ? std::int64_t{kXqaSlots} * kMicroblockTokens
                              : std::int64_t{args.batch.pages_per_request} * args.pool.page_size;
}

/// Writes every row when `every_row`, else the rows that slot_rows names (a `may` write). Partials and their LSE are
/// scratch within one launch: only those of rows with several splits are written, and none is read that this launch
/// did not write.
///
/// A row is NaN, and its LSE too, until its last split is in. So it stays NaN where a counter was not zeroed, and where
/// the plan is stale or not this launch's: where it says a length below 0 or past most_tokens(), or fewer active splits
/// than the row has. A plausible number would be worse. Rows of one split or none go by no counter, and theirs changes
/// nothing.
extern const Op<XqaDecodeArgs> xqa_decode;

}  // namespace refrain
