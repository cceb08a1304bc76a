// xqa_decode: split-K decode of one query row a slot, over sorted page-4 keys or
// over a dense page table (any page size that is a multiple of 4). It never reads
// a token at or past the slot's length, so tails, null block and garbage table
// entries stay out. Each split writes a normalised partial and its LSE and then
// counts itself in; merge_partials follows.
#pragma once

#include "kernels/batch_view.hpp"
#include "kernels/kv_pool_view.hpp"
#include "kernels/op.hpp"
#include "kernels/plan_xqa.hpp"

namespace refrain {

struct XqaDecodeArgs {
  const void* q = nullptr;                          ///< [bucket, heads, dim], `q_dtype`
  Dtype q_dtype = Dtype::fp16;                      ///< fp16 or bf16
  KvPoolView pool;                                  ///< heads % kv_heads == 0; kv_heads == 1 when keys are given
  BatchView batch;                                  ///< page_table and token_to_req are read when keys is null
  const std::int64_t* keys = nullptr;               ///< [slots, kXqaSlots], or null: dense
  const std::int32_t* slot_rows = nullptr;          ///< [slots]
  const std::int32_t* lengths = nullptr;            ///< [slots]
  const std::int32_t* active_partitions = nullptr;  ///< [1]
  const float* k_scale = nullptr;                   ///< [1]
  const float* v_scale = nullptr;                   ///< [1]
  float softmax_scale = 0;
  std::int32_t slots = 0, heads = 0;
  std::int32_t partitions = 0;  ///< capacity of the partial buffers
  std::int32_t partition_tokens = 0;
  void* partials = nullptr;  ///< out [slots, heads, partitions, dim], `partial_dtype`; only active splits are written
  Dtype partial_dtype =
      Dtype::fp32;  ///< fp32; fp16 for fp16/bf16 pools is allowed, for E4M3 it is the fault `workspace-fp16` (rule 204)
  float* partial_lse =
      nullptr;  ///< out [slots, heads, partitions]: natural; -inf for a split without tokens; every element written
  std::int32_t* counters = nullptr;  ///< [slots, heads]: + 1 a split with tokens; needs `zeroed`
};

/// Needs `zeroed` over counters. Partials are a `may` write: a split without tokens leaves its part.
extern const Op<XqaDecodeArgs> xqa_decode;

}  // namespace refrain
