// One token's latent values to a record of an MLA pool, as a cache write does it:
// scales from the largest magnitude of their group, E4M3 codes, bf16 rope. On the
// host, for the inputs of the steps; mla_oracle decodes on its own.
#pragma once

#include <span>

#include "kernels/mla_pool_view.hpp"

namespace refrain {

/// Writes the record of `slot` into host memory at `pool.data`, its footer with it. `values` are pool.dim() finite
/// numbers. A group's scale is the largest magnitude / 448, for e4m3_584 rounded up to a power of two; 1 for zeros.
void encode_mla_record(const MlaPoolView& pool, std::int64_t slot, std::span<const float> values);

}  // namespace refrain
