#include "kernels/argmax.hpp"
#include "kernels/host_logits.hpp"
#include "kernels/host_twins.hpp"
#include "kernels/row_count.hpp"

namespace refrain {

void argmax_host(const ArgmaxArgs& args) {
  const std::int32_t rows = clamp_rows(*args.rows, args.bucket);
  for (std::int32_t row = 0; row < args.bucket; ++row)
    args.tokens[row] = row < rows ? HostLogits(args.logits, args.dtype, row, args.vocab).argmax : -1;
}

}  // namespace refrain
