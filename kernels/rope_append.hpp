// rope_append: what stands between the q, k and v of a decoder layer's one GEMM and
// its attention. q is rotated by the row's position into an array of its own; k is
// rotated, rounded to its dtype as if it had been stored, and appended with v to the
// pages as kv_append does. Dimension i of a head's first half of the rotary part turns
// with dimension i of its second half (NeoX halves) by the row's position times
// theta^(-2 i / rotary_dim); dimensions past the rotary part stay as they are.
#pragma once

#include "kernels/batch_view.hpp"
#include "kernels/kv_pool_view.hpp"
#include "kernels/op.hpp"

namespace refrain {

struct RopeAppendArgs {
  const void* qkv = nullptr;  ///< [bucket, heads + 2 * kv_heads, dim]: the heads of q, then of k, then of v
  Dtype dtype = Dtype::bf16;  ///< fp16 or bf16: of qkv and q
  std::int32_t heads = 0;
  double theta = 10'000;
  std::int32_t rotary_dim = 0;  ///< even, at most dim and 1,024
  KvPoolView pool;              ///< has kv_heads and dim
  BatchView batch;
  const float* k_scale = nullptr;  ///< [1] on the device: stored = k / scale, saturating; 1 for fp16 and bf16 pools
  const float* v_scale = nullptr;
  void* q = nullptr;  ///< [bucket, heads, dim]
  /// The kernel right ahead on the stream writes at most qkv of what this one reads: an early launch reads the batch's
  /// tables and the scales before it waits (rule RF309).
  bool rest_is_done = false;
};

/// Rotates in fp32 by a cosine and a sine whose error is at most kRopeTurnError for |position| <= 2^20, rounds once.
/// An fp32 angle is not enough for that: at 2^20 its last bit is a sixteenth of a radian. Positions beyond lose in
/// proportion.
///
/// Every row of q is written: pad rows are zeros. Rows append under kv_append's rules: a pad row, a row whose position
/// lies outside its request's length, and one without a page in [1, pages) write nothing to the pool.
extern const Op<RopeAppendArgs> rope_append;

inline constexpr double kRopeTurnError = 5e-7;

}  // namespace refrain
