// The least time of one decoder layer of a decode step: its weights and the rows' K and V
// read once at the plain reading rate, or its products at the matrix rate where that is
// more. Not a time of anything that ran; what lies between kernels is no part of it.
#pragma once

#include "bench/llama_decode.hpp"

namespace refrain::bench {

struct StepCeilings {
  double read_gbps = 0;        ///< measured, plain reads
  double tensor_tflops = 788;  ///< an 8192 x 8192 x 8192 bf16 product of random values
};

struct LayerFloor {
  double gemms_us = 0;  ///< sum over the four, each by the larger of its two
  double kv_us = 0;
  std::int64_t weight_bytes = 0, kv_bytes = 0;

  [[nodiscard]] double us() const { return gemms_us + kv_us; }
};

[[nodiscard]] LayerFloor floor_of(const LlamaShape& shape, const DecodeShape& decode, const StepCeilings& ceilings);

}  // namespace refrain::bench
