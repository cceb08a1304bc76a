// kv_append: quantises this step's K and V rows and writes them to their pages.
// Pad rows write nothing, and nothing is ever written to page 0 (the null block).
#pragma once

#include "kernels/batch_view.hpp"
#include "kernels/kv_pool_view.hpp"
#include "kernels/op.hpp"

namespace refrain {

struct KvAppendArgs {
  const void* k = nullptr;          ///< [bucket, kv_heads, dim], `input_dtype`
  const void* v = nullptr;          ///< like k
  Dtype input_dtype = Dtype::fp16;  ///< fp16, bf16 or fp32
  KvPoolView pool;
  BatchView batch;
  const float* k_scale = nullptr;  ///< [1] on the device: stored = k / scale, saturating; 1 for fp16 and bf16 pools
  const float* v_scale = nullptr;
  /// True only for the fault `null-block-written`: pad rows are written to page 0, as a slot mapping of zeros does.
  bool pad_rows_to_null_block = false;
};

/// A row whose position lies at or past its request's seq_len, or whose table entry is no page in
/// [1, pages), writes nothing. E4M3 stores saturate at +-448; NaN stays NaN.
extern const Op<KvAppendArgs> kv_append;

}  // namespace refrain
