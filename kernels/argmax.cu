// One block of 1,024 threads a row. Floor: rows * vocab * element bytes over the
// memory's bandwidth. Fewer rows than SMs don't reach it, for a row's block has no
// more in flight than its own loads, 64 KiB at a time, and what one SM can take in
// is the limit however idle the others are.
#include <cassert>
#include <cstdint>

#include "kernels/argmax.hpp"
#include "kernels/device/logit_row.cuh"
#include "kernels/launchers.hpp"
#include "kernels/row_count.hpp"
#include "kernels/touch_activations.hpp"

namespace refrain {
namespace {

template <Dtype kDtype, bool kVector>
__global__ void __launch_bounds__(device::kDrawThreads) argmax_kernel(const ArgmaxArgs args) {
  __shared__ device::DrawScratch scratch;
  const auto row = static_cast<std::int32_t>(blockIdx.x);
  std::int32_t token = -1;
  if (row < clamp_rows(*args.rows, args.bucket)) {
    const device::LogitRow<kDtype, kVector> logits{args.logits, std::int64_t{row} * args.vocab, args.vocab};
    const device::RowScan scan = device::scan_logits(logits, scratch);
    if (!scan.bad) token = scan.largest.id;
  }
  if (threadIdx.x == 0) args.tokens[row] = token;
}

}  // namespace

void argmax_launch(const ArgmaxArgs& args, void* stream) {
  assert_logits(args.dtype);
  assert(args.bucket > 0 && args.vocab > 0 && args.vocab <= 1 << 30);
  const auto on = static_cast<cudaStream_t>(stream);
  const auto grid = static_cast<unsigned>(args.bucket);
  device::for_logit_kind(args.logits, args.dtype, args.vocab, [&]<Dtype kDtype, bool kVector>() {
    argmax_kernel<kDtype, kVector><<<grid, device::kDrawThreads, 0, on>>>(args);
  });
}

}  // namespace refrain
