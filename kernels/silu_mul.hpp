// silu_mul: silu(gate) * up, the middle of a gated feed-forward layer, over rows
// that hold the gate first and then up, as one GEMM writes both. silu(g) is
// g / (1 + exp(-g)); fp32 inside, rounded once.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct SiluMulArgs {
  const void* gate_up = nullptr;       ///< [bucket, 2 * width]: gate, then up
  const std::int32_t* rows = nullptr;  ///< [1]: count of real rows
  Dtype dtype = Dtype::bf16;           ///< fp16 or bf16, of both arrays
  std::int32_t bucket = 0, width = 0;
  void* out = nullptr;  ///< [bucket, width]
  /// The kernel right ahead on the stream does not write rows: an early launch reads it before it waits (rule RF309).
  bool rest_is_done = false;
};

/// Every row of out is written, pad rows as zeros. A gate of -inf gives NaN, as -inf / inf is.
extern const Op<SiluMulArgs> silu_mul;

}  // namespace refrain
