// A float as a dtype would keep it: what comes back after a store and a load.
#pragma once

#include "graphs/contract.hpp"
#include "kernels/device/codec.cuh"

namespace refrain::device {

/// fp16 or bf16; a float of any other dtype stays as it is.
[[nodiscard]] __device__ inline float round_to(Dtype dtype, float value) {
  if (dtype == Dtype::fp16) return fp16_to_float(float_to_fp16(value));
  return dtype == Dtype::bf16 ? bf16_to_float(float_to_bf16(value)) : value;
}

}  // namespace refrain::device
