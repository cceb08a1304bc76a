// rms_norm: y = x / sqrt(mean(x^2) + eps) * weight over each row, in fp32 and
// rounded once at the end. With a residual, x is added to it first, the sum is
// written back to it, and the norm is that of the sum as it was stored: the fused
// op gives what an addition and a norm one after another give.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct RmsNormArgs {
  const void* x = nullptr;             ///< [bucket, width]
  const void* weight = nullptr;        ///< [width]
  const std::int32_t* rows = nullptr;  ///< [1]: count of real rows
  float eps = 1e-6f;
  Dtype dtype = Dtype::bf16;  ///< fp16 or bf16, of all arrays
  std::int32_t bucket = 0, width = 0;
  void* residual = nullptr;  ///< [bucket, width] in and out, or null; no overlap with x and out
  void* out = nullptr;       ///< [bucket, width]
  /// The kernel right ahead on the stream writes at most x of what this one reads: an early launch reads weight,
  /// rows and residual before it waits (rule RF309).
  bool rest_is_done = false;
};

/// Every row of out and of the residual is written: those of pad rows become zeros, whatever x and the residual held.
/// A row whose squares overflow fp32 (bf16 beyond 1.8e19) has an infinite mean and comes out as zeros; one with a NaN
/// or an infinity comes out with NaN.
extern const Op<RmsNormArgs> rms_norm;

}  // namespace refrain
