// rope: rotary position embedding of q and k, in place. Dimension i of a head's
// first half of the rotary part turns with dimension i of its second half (NeoX
// halves) by the row's position times theta^(-2 i / rotary_dim). Dimensions past
// the rotary part stay as they are, and so do pad rows.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct RopeArgs {
  void* q = nullptr;                        ///< [bucket, heads, dim] in and out
  void* k = nullptr;                        ///< [bucket, kv_heads, dim] in and out
  const std::int64_t* query_pos = nullptr;  ///< [bucket]: absolute position of the row's token
  const std::int32_t* rows = nullptr;       ///< [1]: count of real rows
  double theta = 10'000;
  Dtype dtype = Dtype::bf16;  ///< fp16 or bf16
  std::int32_t bucket = 0, heads = 0, kv_heads = 0, dim = 0;
  std::int32_t rotary_dim = 0;  ///< even, at most dim and 1,024
};

/// Rotates in fp32 by a cosine and a sine whose error is at most kRopeTurnError for |position| <= 2^20, rounds once.
/// An fp32 angle is not enough for that: at 2^20 its last bit is a sixteenth of a radian. Positions beyond lose in
/// proportion.
///
/// Contract: q and k are `may` read_writes, because pad rows and what lies past the rotary part are not written.
extern const Op<RopeArgs> rope;

inline constexpr double kRopeTurnError = 5e-7;

}  // namespace refrain
