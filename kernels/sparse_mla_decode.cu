// sparse_mla_decode's kernel: a block a row, split and head group, all of them in
// every launch; a split without entries writes its LSE and leaves its partial.
#include "kernels/device/mla_block.cuh"
#include "kernels/device/mla_launch.cuh"
#include "kernels/device_code.hpp"
#include "kernels/launchers.hpp"
#include "kernels/sparse_mla_kernels.hpp"

namespace refrain {
namespace {

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    sparse_mla_decode_kernel(const __grid_constant__ SparseMlaArgs args) {
  extern __shared__ __align__(1024) char bytes[];
  const device::MlaShared<Shape> shared(bytes);
  device::MlaWork work = device::share_of(args, blockIdx.x, Shape::kHeads, args.splits, args.split_entries);
  device::MlaSoftmax<Shape> softmax{device::MlaMasking(args)};
  device::MlaOutput<Shape> output;
  const bool any = device::attend(args, work, shared, softmax, output);
  const std::int64_t first = (std::int64_t{work.row} * args.heads + work.head) * args.splits + work.split;
  device::finish_heads(shared, softmax, output, [&](int head, const device::MlaHeadState& state) {
    const std::int64_t at = first + std::int64_t{head} * args.splits;
    const device::MlaResult result = device::result_of(any ? state : device::MlaHeadState{}, device::kMinusInf);
    args.partial_lse[at] = result.lse;
    if (args.partial_max != nullptr) args.partial_max[at] = result.max_logit;
    return result.factor;
  });
  if (!any) return;
  output.each([&](int head, int dim, float value) {
    args.partials[(first + std::int64_t{head} * args.splits) * kMlaValueDim + dim] = value;
  });
}

}  // namespace

void sparse_mla_decode_launch(const SparseMlaArgs& args, void* stream) {
  device::assert_mla_shape(args);
  assert(args.splits > 0 && args.split_entries > 0 && args.split_entries % args.chunk == 0);
  assert(std::int64_t{args.splits} * args.split_entries >= args.topk);
  if (args.heads % 64 == 0 && has_wgmma()) return sparse_mla_decode_wgmma_launch(args, stream);
  device::with_mla_shape(args, [&](auto shape) {
    using Shape = decltype(shape);
    device::launch_mla<Shape>(sparse_mla_decode_kernel<Shape>, args, args.splits, static_cast<cudaStream_t>(stream));
  });
}

}  // namespace refrain
