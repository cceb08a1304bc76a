// The launcher of xqa_decode: which shapes the kernels take. A block a (slot,
// partition, KV head), all of them in every launch; what is active is read on the
// device. What a block does stands in device/xqa_block.cuh, the end of a row in
// device/xqa_merge.cuh.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/xqa_merge.cuh"
#include "kernels/device_code.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"
#include "kernels/xqa_decode.hpp"

namespace refrain {
namespace {

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, Shape::kBlocks)
    xqa_decode_kernel(const __grid_constant__ XqaDecodeArgs args) {
  extern __shared__ __align__(1024) char shared[];  // xqa_tile.cuh flips bits below 512 of addresses
  if (!args.plan_is_done) device::wait_for_previous();
  auto& tail = *reinterpret_cast<typename Shape::Tail*>(shared + Shape::kWarps * Shape::kRingBytes);
  const device::XqaSplit split = device::split_of_block(args);
  const int group = args.heads / args.pool.kv_heads;
  if (split.begin == split.end) {
    if (args.plan_is_done) device::wait_for_previous();
    if (split.row < 0 || split.partition != 0) return;
    const bool missing = split.splits == device::kSplitMissing;
    return device::fill_rows<Shape>(device::output_rows(args, split, group), group,
                                    missing ? device::quiet_nan() : 0.0f,
                                    missing ? device::quiet_nan() : device::kMinusInf);
  }
  char* own = shared + threadIdx.x / 32 * Shape::kRingBytes;
  const std::uint32_t ring = device::shared_address(own);
  device::XqaStream<Shape> stream(args, split, ring);
  // All of the ring before the wait alone, and of long rows: else a warp's first stage would stand in line behind the
  // others' last ones, which costs short rows up to 2 us.
  constexpr int kRing = Shape::kStages;
  std::int32_t under_way = 0;
  if (args.plan_is_done) {
    under_way = stream.fill_ring(0, stream.stages() > 2 * kRing ? kRing : kRing - 1, split.settled);
    device::wait_for_previous();
  }
  under_way = stream.fill_ring(under_way, kRing - 1, split.end);
  device::load_query<Shape>(args, split, tail);
  if (split.partition == 0 && split.splits > 1)
    device::fill_rows<Shape>(device::output_rows(args, split, group), group, device::quiet_nan(), device::quiet_nan());
  const float scale = args.softmax_scale * *args.k_scale * device::kLog2E, v_scale = *args.v_scale;
  __syncthreads();
  device::XqaSoftmax<Shape> softmax;
  if constexpr (Shape::kQStaysShared)
    device::attend(softmax, stream, split, device::SharedQuery<Shape>{tail}, ring, scale, under_way);
  else
    device::attend(softmax, stream, split, device::RegisterQuery<Shape>(tail), ring, scale, under_way);
  device::wait_for_copies<0>();
  __syncwarp();
  device::publish(softmax, tail, reinterpret_cast<float*>(own), group);
  __syncthreads();
  // Every score -inf: a split weighs nothing in the merge, and 0 * Inf must not make it NaN there; a whole row is 0 /
  // 0.
  if (split.splits == 1)
    return device::add_warps<Shape>(device::output_rows(args, split, group), v_scale, device::quiet_nan(), tail, shared,
                                    group);
  device::add_warps<Shape>(device::partial_rows(args, split, group), v_scale, 0.0f, tail, shared, group);
  if (device::count_in<Shape>(args, split, tail, group)) device::merge_splits<Shape>(args, split, tail, shared, group);
}

/// Of an E4M3 launch: so many that three a multiprocessor, of less under way each, give a model's decode some 2 to 5 %.
constexpr std::int64_t kManyBlocks = 1024;

/// Whether a block may have the shared memory that `Shape` takes.
template <class Shape>
[[nodiscard]] bool fits() {
  return shared_bytes_a_block() >= Shape::kSharedBytes;
}

[[nodiscard]] std::int64_t blocks_of(const XqaDecodeArgs& args) {
  return std::int64_t{args.slots} * args.partitions * args.pool.kv_heads;
}

[[maybe_unused]] bool aligned(const void* data, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

void assert_kernel_shape([[maybe_unused]] const XqaDecodeArgs& args) {
  assert_pool_shape(args.pool);
  if (args.keys != nullptr) assert_microblocks(args.pool);
  assert(args.pool.dim == 64 || args.pool.dim == 128 || args.pool.dim == 256);
  assert(args.pool.pages * args.pool.page_stride4() <= std::int64_t{1} << 32);
  assert(args.slots > 0 && args.slots <= args.batch.bucket && args.partitions > 0 && args.partition_tokens > 0);
  assert(!args.every_row || args.slots == args.batch.bucket);
  assert(args.heads % args.pool.kv_heads == 0 && args.heads / args.pool.kv_heads <= device::kXqaHeads);
  assert(blocks_of(args) <= INT32_MAX);
  // P has the query's dtype and meets V in one MMA; E4M3 becomes fp16, which bf16 queries would leave the range of.
  assert(args.q_dtype == (args.pool.dtype == Dtype::bf16 ? Dtype::bf16 : Dtype::fp16));
  assert(args.partial_dtype == Dtype::fp32 || args.partial_dtype == Dtype::fp16);
  assert(aligned(args.pool.data, 16) && aligned(args.q, 4));
  assert(aligned(args.partials, 16) && aligned(args.out, 16));
}

template <class Shape>
void launch(const XqaDecodeArgs& args, KernelPlace place) {
  const auto blocks = static_cast<unsigned>(blocks_of(args));
  // Not a stream operation, so legal in a capture; should it fail, so does the launch, and the driver reads that.
  cudaFuncSetAttribute(xqa_decode_kernel<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes);
  launch_kernel(xqa_decode_kernel<Shape>, blocks, Shape::kThreads, Shape::kSharedBytes, place, args);
}

template <device::KvFormat kFormat, int kDim>
void launch_width(const XqaDecodeArgs& args, KernelPlace place) {
  using device::XqaShape, device::XqaWidth;
  using Wide = XqaShape<kFormat, kDim, XqaWidth::wide, 1>;
  if (args.wide && fits<Wide>()) return launch<Wide>(args, place);
  if constexpr (kFormat == device::KvFormat::e4m3 && kDim <= 128)
    if (blocks_of(args) >= kManyBlocks) return launch<XqaShape<kFormat, kDim, XqaWidth::narrow, 3>>(args, place);
  // With a multiprocessor for each block, the deepest rings: alone they give nothing, but in a model the GEMM behind
  // reads its first weights meanwhile, and a block of 1,024 tokens would wait 2 us longer for its own.
  using Alone = XqaShape<kFormat, kDim, XqaWidth::narrow, 1>;
  if (blocks_of(args) <= multiprocessors() && fits<Alone>()) return launch<Alone>(args, place);
  launch<XqaShape<kFormat, kDim, XqaWidth::narrow, 2>>(args, place);
}

template <device::KvFormat kFormat>
void launch_dim(const XqaDecodeArgs& args, KernelPlace place) {
  if (args.pool.dim == 64) return launch_width<kFormat, 64>(args, place);
  if (args.pool.dim == 128) return launch_width<kFormat, 128>(args, place);
  launch_width<kFormat, 256>(args, place);
}

void launch_at(const XqaDecodeArgs& args, KernelPlace place) {
  assert_kernel_shape(args);
  if (args.pool.dtype == Dtype::fp16) return launch_dim<device::KvFormat::fp16>(args, place);
  if (args.pool.dtype == Dtype::bf16) return launch_dim<device::KvFormat::bf16>(args, place);
  launch_dim<device::KvFormat::e4m3>(args, place);
}

}  // namespace

void xqa_decode_launch(const XqaDecodeArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream)});
}

void xqa_decode_launch_early(const XqaDecodeArgs& args, void* stream) {
  launch_at(args, {static_cast<cudaStream_t>(stream), Start::early});
}

}  // namespace refrain
