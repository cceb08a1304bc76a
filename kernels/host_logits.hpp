// One row of logits on the host, decoded to fp32, with what the ops that draw from
// it ask first: its largest entry, and whether it can be judged at all.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/codec.hpp"

namespace refrain {

struct HostLogits {
  std::vector<float> logits;
  std::int32_t argmax = -1;  ///< the lowest id of the largest; -1 for a row that can't be judged
  float max = -std::numeric_limits<float>::infinity();

  HostLogits(const void* data, Dtype dtype, std::int64_t row, std::int32_t vocab)
      : logits(static_cast<std::size_t>(vocab)) {
    decode_to_float(data, dtype, row * vocab, vocab, logits.data());
    bool nan = false;
    for (std::int32_t id = 0; id < vocab; ++id) {
      const float logit = logits[static_cast<std::size_t>(id)];
      nan = nan || std::isnan(logit);
      if (logit > max) max = logit, argmax = id;
    }
    if (nan) argmax = -1;
  }
};

}  // namespace refrain
