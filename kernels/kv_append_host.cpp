#include <cstdint>

#include "kernels/codec.hpp"
#include "kernels/host_selection.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/kv_append.hpp"

namespace refrain {
namespace {

/// The page that a row's token belongs to, or 0, which is never written.
std::int64_t page_of_row(const KvAppendArgs& args, std::int32_t row) {
  const BatchView& batch = args.batch;
  const std::int32_t request = batch.token_to_req[row];
  if (request < 0 || request >= batch.requests) return 0;
  const std::int64_t token = batch.query_pos[row];
  if (token < 0 || token >= batch.seq_len[request]) return 0;
  if (token / args.pool.page_size >= batch.pages_per_request) return 0;
  const std::int64_t page =
      batch.page_table[std::int64_t{request} * batch.pages_per_request + token / args.pool.page_size];
  return page >= 1 && page < args.pool.pages ? page : 0;
}

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
    const std::int64_t page = pad ? 0 : page_of_row(args, row);
    if (page == 0 && !pad) continue;
    const auto token = static_cast<std::int32_t>((pad ? row : args.batch.query_pos[row]) % pool.page_size);
    for (std::int32_t head = 0; head < pool.kv_heads; ++head) {
      const std::int64_t from = (std::int64_t{row} * pool.kv_heads + head) * pool.dim;
      const std::int64_t to = pool.k_offset(page, token, head);
      store_row(args, args.k, from, to, *args.k_scale);
      store_row(args, args.v, from, to + pool.plane_elements(), *args.v_scale);
    }
  }
}

}  // namespace refrain
