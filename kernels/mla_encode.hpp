// One token's latent values to a record of an MLA pool, on the host: scales from the
// largest magnitude of their group, E4M3 codes, bf16 rope. mla_append's twin writes
// with it, and so do the inputs of the steps; mla_oracle decodes on its own.
#pragma once

#include <span>

#include "kernels/mla_pool_view.hpp"

namespace refrain {

/// Writes the record of `slot` into host memory at `pool.data`, its footer with it. `values` are pool.dim() numbers.
/// A group's scale is its largest finite magnitude / 448, for e4m3_584 rounded up to a power of two; 1 for zeros.
/// Infinities saturate at the group's +-448, NaN stays NaN.
void encode_mla_record(const MlaPoolView& pool, std::int64_t slot, std::span<const float> values);

}  // namespace refrain
