// Sparse MLA on the matrix instructions of warpgroups (sm_90a), for multiples of 64
// heads: prefill and split decode differ in what they do with finished heads alone.
// A block a multiprocessor takes shares, (row, split, 64 heads), a grid apart. Floor: the
// larger of the operations over the tensor cores' rate and the records over the memory's
// bandwidth, or the L2's where it holds them. An H200 reaches 0.6 of it in prefill of 64
// heads over bf16, 0.5 over E4M3, and 0.35 to 0.55 in decode, where start and end of one
// share a block count (bench mla). What limits is a tile's chain in the two warpgroups that
// attend, 2.3 us of a prefill over bf16: scores, softmax and sums come one after the other.
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "kernels/device/codec.cuh"
#include "kernels/device/mla_wgmma_attend.cuh"
#include "kernels/device/mla_wgmma_bring.cuh"
#include "kernels/device_code.hpp"
#include "kernels/sparse_mla_kernels.hpp"

namespace refrain {
namespace {

using device::MlaHeads;
using device::MlaPlace;
using device::MlaShares;
using device::MlaWork;

/// Whole rows of prefill.
struct Rows {
  template <class Shape>
  __device__ static void put(const SparseMlaArgs& args, const MlaWork& work, const MlaPlace& place,
                             const MlaHeads& heads, bool /*any*/, float (&out)[32][4]) {
    const std::int64_t first = std::int64_t{work.row} * args.heads + work.head;
    float factor[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int head = place.head + 8 * r;
      // A pad row has walked nothing, and its sink is none.
      const float sink = args.sinks == nullptr || !work.real ? device::kMinusInf : args.sinks[work.head + head];
      const device::MlaResult result = device::result_of({heads.base[r], heads.sum[r], heads.unrounded[r]}, sink);
      factor[r] = result.factor;
      if (place.attender != 0 || place.t != 0) continue;
      args.lse[first + head] = result.lse;
      if (args.max_logits != nullptr) args.max_logits[first + head] = heads.max[r] * device::kLn2;
    }
    auto* to = static_cast<std::uint16_t*>(args.out) + first * kMlaValueDim + place.attender * Shape::kOwnDims;
#pragma unroll
    for (int r = 0; r < 2; ++r)
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        // Eight dims of each of four column tiles lie in the quad, two a lane; lane t gets all eight of tile 4 i + t.
        std::uint32_t four[4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
          four[j] =
              device::pack_rounded<true>(out[4 * i + j][2 * r] * factor[r], out[4 * i + j][2 * r + 1] * factor[r]);
        device::transpose_quad(four, place.t);
        *reinterpret_cast<uint4*>(to + std::int64_t{place.head + 8 * r} * kMlaValueDim + 8 * (4 * i + place.t)) =
            make_uint4(four[0], four[1], four[2], four[3]);
      }
  }
};

/// Partials of a split; one without entries has its LSE alone.
struct Splits {
  template <class Shape>
  __device__ static void put(const SparseMlaArgs& args, const MlaWork& work, const MlaPlace& place,
                             const MlaHeads& heads, bool any, float (&out)[32][4]) {
    const std::int64_t first = (std::int64_t{work.row} * args.heads + work.head) * args.splits + work.split;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t at = first + std::int64_t{place.head + 8 * r} * args.splits;
      const device::MlaHeadState state{heads.base[r], heads.sum[r], heads.unrounded[r]};
      const device::MlaResult result = device::result_of(any ? state : device::MlaHeadState{}, device::kMinusInf);
      if (place.attender == 0 && place.t == 0) {
        args.partial_lse[at] = result.lse;
        if (args.partial_max != nullptr) args.partial_max[at] = any ? heads.max[r] * device::kLn2 : device::kMinusInf;
      }
      if (!any) continue;
      float* to = args.partials + at * kMlaValueDim + place.attender * Shape::kOwnDims + 2 * place.t;
#pragma unroll
      for (int j = 0; j < 32; ++j)
        *reinterpret_cast<float2*>(to + 8 * j) =
            make_float2(out[j][2 * r] * result.factor, out[j][2 * r + 1] * result.factor);
    }
  }
};

template <class Shape, class Put>
__device__ void attend_shares(const SparseMlaArgs& args, const MlaShares& shares, char* shared,
                              const device::MlaHandOver<Shape>& over) {
  device::MlaAttender<Shape> attender(args, shared, over);
  std::int32_t n = 0, nth = 0;
#pragma unroll 1
  for (auto at = static_cast<std::int32_t>(blockIdx.x); at < shares.count; at += static_cast<std::int32_t>(gridDim.x)) {
    MlaWork work = shares.share<Shape>(args, at);
    device::read_bounds(args, work);
    MlaHeads heads{device::MlaMasking(args)};
    float out[32][4] = {};
    const bool any = attender.attend(work, n, nth, heads, out);
    if (work.tiles() > 0) ++nth;
    attender.finish(heads);
    Put::template put<Shape>(args, work, attender.place(), heads, any, out);
  }
}

template <class Shape, class Put>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    sparse_mla_wgmma_kernel(const __grid_constant__ SparseMlaArgs args, const __grid_constant__ MlaShares shares) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) char shared[];
  const device::MlaHandOver<Shape> over(shared);
  if (threadIdx.x == 0) over.init();
  __syncthreads();
  // Said to be the same in all lanes, so that neither branch is one of single threads.
  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / Shape::kGroupThreads, 0);
  if (warpgroup >= Shape::kAttenders) {
    device::give_registers<Shape::kBringRegisters>();
    device::bring(args, shares, over, static_cast<int>(threadIdx.x) - Shape::kAttendThreads);
  } else {
    device::take_registers<Shape::kAttendRegisters>();
    attend_shares<Shape, Put>(args, shares, shared, over);
  }
#endif
}

template <class Put, MlaRecord kRecord>
void launch(const SparseMlaArgs& args, const MlaShares& shares, cudaStream_t stream) {
  using Shape = device::MlaWgmmaShape<kRecord>;
  const auto kernel = sparse_mla_wgmma_kernel<Shape, Put>;
  // Not a stream operation, so legal in a capture; should it fail, so does the launch, and the driver reads that.
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kSharedBytes);
  const auto blocks = static_cast<unsigned>(std::min(shares.count, multiprocessors()));
  kernel<<<blocks, Shape::kThreads, Shape::kSharedBytes, stream>>>(args, shares);
}

template <class Put>
void launch(const SparseMlaArgs& args, std::int32_t splits, std::int32_t split_entries, void* stream) {
  assert(args.heads % 64 == 0);
  const std::int64_t count = std::int64_t{args.rows} * splits * (args.heads / 64);
  assert(count <= INT32_MAX - 4096);  // and a grid more
  const MlaShares shares{static_cast<std::int32_t>(count), splits, split_entries};
  const auto on = static_cast<cudaStream_t>(stream);
  switch (args.pool.record) {
    case MlaRecord::bf16: return launch<Put, MlaRecord::bf16>(args, shares, on);
    case MlaRecord::e4m3_656: return launch<Put, MlaRecord::e4m3_656>(args, shares, on);
    case MlaRecord::e4m3_584: return launch<Put, MlaRecord::e4m3_584>(args, shares, on);
  }
}

}  // namespace

void sparse_mla_prefill_wgmma_launch(const SparseMlaArgs& args, void* stream) {
  launch<Rows>(args, 1, args.topk, stream);
}

void sparse_mla_decode_wgmma_launch(const SparseMlaArgs& args, void* stream) {
  launch<Splits>(args, args.splits, args.split_entries, stream);
}

}  // namespace refrain
