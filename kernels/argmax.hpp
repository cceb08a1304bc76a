// argmax: the id of each row's largest logit, the lowest where several are. It is
// greedy sampling on the device; a row that can't be judged gives -1 and not a
// plausible token.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct ArgmaxArgs {
  const void* logits = nullptr;        ///< [bucket, vocab]
  const std::int32_t* rows = nullptr;  ///< [1]: count of real rows
  Dtype dtype = Dtype::fp32;           ///< fp32, fp16 or bf16
  std::int32_t bucket = 0, vocab = 0;
  std::int32_t* tokens = nullptr;  ///< out [bucket]
};

/// Every token is written: -1 for a pad row, for a row with a NaN and for one with nothing above -inf. The logits of
/// pad rows are not looked at. +0 and -0 are equal, and so are infinities.
extern const Op<ArgmaxArgs> argmax;

}  // namespace refrain
