// sparse_mla_prefill's kernel: a block a row and head group walks the whole list
// and writes finished heads. The block's work stands in device/mla_block.cuh.
#include "kernels/device/codec.cuh"
#include "kernels/device/mla_block.cuh"
#include "kernels/device/mla_launch.cuh"
#include "kernels/device_code.hpp"
#include "kernels/launchers.hpp"
#include "kernels/sparse_mla_kernels.hpp"

namespace refrain {
namespace {

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    sparse_mla_prefill_kernel(const __grid_constant__ SparseMlaArgs args) {
  extern __shared__ __align__(1024) char bytes[];
  const device::MlaShared<Shape> shared(bytes);
  device::MlaWork work = device::share_of(args, blockIdx.x, Shape::kHeads, 1, args.topk);
  device::MlaSoftmax<Shape> softmax{device::MlaMasking(args)};
  device::MlaOutput<Shape> output;
  device::attend(args, work, shared, softmax, output);
  const std::int64_t first = std::int64_t{work.row} * args.heads + work.head;
  device::finish_heads(shared, softmax, output, [&](int head, const device::MlaHeadState& state) {
    // A pad row has walked nothing, and its sink is none.
    const float sink = args.sinks == nullptr || !work.real ? device::kMinusInf : args.sinks[work.head + head];
    const device::MlaResult result = device::result_of(work.real ? state : device::MlaHeadState{}, sink);
    args.lse[first + head] = result.lse;
    if (args.max_logits != nullptr) args.max_logits[first + head] = result.max_logit;
    return result.factor;
  });
  auto* out = static_cast<std::uint16_t*>(args.out) + first * kMlaValueDim;
  output.each([&](int head, int dim, float value) {
    out[std::int64_t{head} * kMlaValueDim + dim] = device::float_to_bf16(value);
  });
}

}  // namespace

void sparse_mla_prefill_launch(const SparseMlaArgs& args, void* stream) {
  device::assert_mla_shape(args);
  if (args.heads % 64 == 0 && has_wgmma()) return sparse_mla_prefill_wgmma_launch(args, stream);
  device::with_mla_shape(args, [&](auto shape) {
    using Shape = decltype(shape);
    device::launch_mla<Shape>(sparse_mla_prefill_kernel<Shape>, args, 1, static_cast<cudaStream_t>(stream));
  });
}

}  // namespace refrain
