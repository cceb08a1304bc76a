// convert: an array in another sixteen-bit format, fp16 to bf16 or back, rounded to
// nearest. Between layers whose kernels take different formats; it knows no rows, so
// pad rows are converted like all others.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct ConvertArgs {
  const void* from = nullptr;      ///< [count], `from_dtype`
  Dtype from_dtype = Dtype::fp16;  ///< fp16 or bf16
  Dtype to_dtype = Dtype::bf16;    ///< likewise
  std::int64_t count = 0;          ///< elements
  void* to = nullptr;              ///< out [count], `to_dtype`; no overlap with from
};

/// Every element is written. What fp16 can't hold becomes an infinity; NaN stays NaN.
extern const Op<ConvertArgs> convert;

}  // namespace refrain
