// How the twins write one head of a K or V row to the pool.
#pragma once

#include "kernels/codec.hpp"
#include "kernels/kv_pool_view.hpp"

namespace refrain {

/// pool.dim elements, each divided by the scale and rounded to the pool's dtype.
inline void append_head(const KvPoolView& pool, std::int64_t to, const void* source, Dtype dtype, std::int64_t from,
                        float scale) {
  for (std::int32_t d = 0; d < pool.dim; ++d)
    store_from_float(pool.data, pool.dtype, to + d, load_as_float(source, dtype, from + d) / scale);
}

}  // namespace refrain
