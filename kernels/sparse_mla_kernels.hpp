// The kernels of sparse MLA for many heads, for its launchers, which choose. They
// give the same as the others up to the order of sums.
#pragma once

#include "kernels/sparse_mla.hpp"

namespace refrain {

/// Need has_wgmma() and a multiple of 64 heads.
void sparse_mla_prefill_wgmma_launch(const SparseMlaArgs& args, void* stream);
void sparse_mla_decode_wgmma_launch(const SparseMlaArgs& args, void* stream);

}  // namespace refrain
