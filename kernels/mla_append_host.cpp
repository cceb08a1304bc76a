#include <cstdint>
#include <vector>

#include "kernels/codec.hpp"
#include "kernels/host_selection.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/mla_append.hpp"
#include "kernels/mla_encode.hpp"

namespace refrain {

void mla_append_host(const MlaAppendArgs& args) {
  const std::int64_t dim = args.pool.dim();
  std::vector<float> values(static_cast<std::size_t>(dim));
  const std::int32_t rows = real_rows(args.batch);
  for (std::int32_t row = 0; row < rows; ++row) {
    const std::int64_t slot = append_slot(args.batch, args.pool, row);
    if (slot == kNoSlot) continue;
    decode_to_float(args.latent, Dtype::bf16, row * dim, dim, values.data());
    encode_mla_record(args.pool, slot, values);
  }
}

}  // namespace refrain
