#include <cstdint>

#include "kernels/codec.hpp"
#include "kernels/host_selection.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/kv_append.hpp"

namespace refrain {
namespace {

void store_row(const KvAppendArgs& args, const void* source, std::int64_t from, std::int64_t to, float scale) {
  for (std::int32_t d = 0; d < args.pool.dim; ++d) {
    const float value = load_as_float(source, args.input_dtype, from + d);
    store_from_float(args.pool.data, args.pool.dtype, to + d, value / scale);
  }
}

}  // namespace

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
      const std::int64_t to =
          pool.k_offset(slot / pool.page_size, static_cast<std::int32_t>(slot % pool.page_size), head);
      store_row(args, args.k, from, to, *args.k_scale);
      store_row(args, args.v, from, to + pool.plane_elements(), *args.v_scale);
    }
  }
}

}  // namespace refrain
