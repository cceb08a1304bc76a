// gemm: out = a * w^T (+ bias), the linear layer: fp16 or bf16 in, fp32 sums, one
// rounding at the end. On the device few rows have a kernel of ours, which reads the
// weights once (kernels/thin_gemm.hpp); for more it is cuBLASLt with an algorithm that
// was chosen before any capture (kernels/gemm_plans.hpp) and a workspace that the caller
// gives. It takes no count of rows: no output row depends on another row of a, so
// what pad rows hold goes into pad rows alone.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct GemmPlan;

struct GemmArgs {
  const void* a = nullptr;        ///< [bucket, k], `dtype`
  const void* w = nullptr;        ///< [n, k], `dtype`
  const void* bias = nullptr;     ///< [n], `out_dtype`, or null
  Dtype dtype = Dtype::bf16;      ///< fp16 or bf16
  Dtype out_dtype = Dtype::bf16;  ///< `dtype`, or fp32, as for logits
  std::int32_t bucket = 0, n = 0, k = 0;
  const GemmPlan* plan = nullptr;  ///< GemmPlans::plan of these Args; the twin does not look at it
  void* workspace = nullptr;       ///< at least gemm_workspace_bytes(plan), aligned to 256 bytes; null where that is 0
  std::int64_t workspace_bytes = 0;
  void* out = nullptr;  ///< [bucket, n], `out_dtype`
};

/// Every row is written, those of pad rows with whatever comes of a's. The workspace is a `may` write: partial sums.
/// The launch needs a, w, bias and out aligned to 16 bytes; it allocates nothing and waits for nothing. Run each plan
/// once before a capture, for the first launch loads its kernels. What cuBLASLt refuses stands in the last error as
/// cudaErrorInvalidConfiguration, which no launch of its own gives.
extern const Op<GemmArgs> gemm;

}  // namespace refrain
