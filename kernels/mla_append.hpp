// mla_append: this step's latent rows to the records of their slots, in the pool's
// format: the scales that the encoding needs are made here, a group at a time. As
// with kv_append, pad rows write nothing and nothing is ever written to page 0 (the
// null block).
#pragma once

#include "kernels/batch_view.hpp"
#include "kernels/mla_pool_view.hpp"
#include "kernels/op.hpp"

namespace refrain {

struct MlaAppendArgs {
  const void* latent = nullptr;  ///< [bucket, pool.dim()] bf16: nope then rope
  MlaPoolView pool;
  BatchView batch;
};

/// A row whose position lies at or past its request's seq_len, or whose table entry is no page in [1, pages), writes
/// nothing. Records are those of encode_mla_record (kernels/mla_encode.hpp), to the bit: E4M3 saturates, an infinity
/// at its group's +-448, NaN stays NaN. The launch needs latent and pool aligned to 16 bytes.
extern const Op<MlaAppendArgs> mla_append;

}  // namespace refrain
