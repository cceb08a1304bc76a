#include "kernels/host_rotation.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/rope.hpp"
#include "kernels/row_count.hpp"

namespace refrain {

void rope_host(const RopeArgs& args) {
  const std::int32_t rows = clamp_rows(*args.rows, args.bucket);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::vector<Turn> turns = turns_at(args.query_pos[row], args.theta, args.rotary_dim);
    for (std::int32_t head = 0; head < args.heads; ++head)
      rotate_head(args.q, args.dtype, (row * args.heads + head) * args.dim, turns);
    for (std::int32_t head = 0; head < args.kv_heads; ++head)
      rotate_head(args.k, args.dtype, (row * args.kv_heads + head) * args.dim, turns);
  }
}

}  // namespace refrain
