#include <cmath>

#include "kernels/codec.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/row_count.hpp"
#include "kernels/silu_mul.hpp"

namespace refrain {

void silu_mul_host(const SiluMulArgs& args) {
  const std::int32_t rows = clamp_rows(*args.rows, args.bucket);
  for (std::int32_t row = 0; row < args.bucket; ++row)
    for (std::int32_t d = 0; d < args.width; ++d) {
      float value = 0;
      if (row < rows) {
        const std::int64_t at = 2 * std::int64_t{row} * args.width + d;
        const float gate = load_as_float(args.gate_up, args.dtype, at);
        value = gate / (1.0f + std::exp(-gate)) * load_as_float(args.gate_up, args.dtype, at + args.width);
      }
      store_from_float(args.out, args.dtype, std::int64_t{row} * args.width + d, value);
    }
}

}  // namespace refrain
