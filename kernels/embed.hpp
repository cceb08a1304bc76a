// embed: the rows of a table that token ids name, copied bit for bit. The ids come
// from device memory, so they may be what the previous step has just sampled. A
// row without a token, be it a pad row or one whose id no vocabulary holds, is zeros.
#pragma once

#include "kernels/op.hpp"

namespace refrain {

struct EmbedArgs {
  const std::int32_t* ids = nullptr;   ///< [bucket]; those of pad rows are not looked at
  const std::int32_t* rows = nullptr;  ///< [1]: count of real rows
  const void* table = nullptr;         ///< [vocab, width], `dtype`
  Dtype dtype = Dtype::bf16;           ///< fp16 or bf16, of the table and of what comes out
  std::int32_t bucket = 0, vocab = 0, width = 0;
  void* out = nullptr;  ///< [bucket, width]
};

/// Every row is written. The table is a `may` read of its whole range: which rows are read stands in memory.
extern const Op<EmbedArgs> embed;

}  // namespace refrain
