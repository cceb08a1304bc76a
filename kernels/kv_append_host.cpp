#include <cstdint>

#include "kernels/host_append.hpp"
#include "kernels/host_selection.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/kv_append.hpp"

namespace refrain {

void kv_append_host(const KvAppendArgs& args) {
  const KvPoolView& pool = args.pool;
  const std::int32_t rows = real_rows(args.batch);
  for (std::int32_t row = 0; row < args.batch.bucket; ++row) {
    const bool pad = row >= rows;
    if (pad && !args.pad_rows_to_null_block) continue;
    const std::int64_t slot = pad ? row % pool.page_size : append_slot(args.batch, pool, row);
    if (slot == kNoSlot) continue;
    for (std::int32_t head = 0; head < pool.kv_heads; ++head) {
      const std::int64_t from = (std::int64_t{row} * pool.kv_heads + head) * pool.dim;
      const std::int64_t to = pool.slot_offset(slot) + std::int64_t{head} * pool.dim;
      append_head(pool, to, args.k, args.input_dtype, from, *args.k_scale);
      append_head(pool, to + pool.plane_elements(), args.v, args.input_dtype, from, *args.v_scale);
    }
  }
}

}  // namespace refrain
