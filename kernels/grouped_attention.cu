// The kernel for devices without the matrix instructions of warpgroups, and the choice
// between it and grouped_attention_wgmma.cu. One block a group, or a cluster of up to
// eight that share a group's tiles when there are too few groups to fill the chip. Per tile: one block barrier (the
// stage has arrived, the oldest one is free) and one barrier of each warp pair (scores exchanged). The protection
// against non-finite V costs the loop nothing: such an element shows in the sums, and then the block goes over its
// tiles a second time on the path that contains it.
#include <cassert>
#include <cstdint>

#include "kernels/device/early_start.cuh"
#include "kernels/device/grouped_contain.cuh"
#include "kernels/device/grouped_formats.cuh"
#include "kernels/device/grouped_loads.cuh"
#include "kernels/device/grouped_merge.cuh"
#include "kernels/device/grouped_shape.cuh"
#include "kernels/device/grouped_softmax.cuh"
#include "kernels/device_code.hpp"
#include "kernels/grouped_attention_kernels.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

using grouped::Layout;
using grouped::Place;
using grouped::Work;

template <class Format>
__device__ void load_queries(const GroupedAttentionArgs& args, const Work& work, const Place& place,
                             grouped::Queries<Format::kParkedSteps>& q) {
  // Only groups of eight real rows have tiles; the clamp keeps a wrong plan inside the buffer.
  const std::int64_t last = std::int64_t{args.bucket} * kGroupedHeads - 1;
  const std::int64_t row = std::int64_t{work.group} * grouped::kRows + grouped::kMRows * place.m_tile + place.g;
  const auto* all = static_cast<const std::uint16_t*>(args.q);
  Format::load_queries(all + min(row, last) * grouped::kDim, all + min(row + 8, last) * grouped::kDim, place, q);
}

template <class Format>
__device__ void attend_tile(const grouped::Queries<Format::kParkedSteps>& q, float scale, std::byte* shared,
                            const std::byte* stage, const std::uint32_t* masks, const Place& place,
                            grouped::RowState<grouped::kWarpTiles>& state) {
  std::uint32_t attended = 0;
  const std::uint32_t any = grouped::read_masks(masks, place, attended);
  // An idle pair meets too: racecheck counts a thread's barriers, and with fewer in some warps it takes the reads
  // before the next block barrier and the copies behind it for a race. The pair would only wait there instead.
  if (!grouped::m_tile_active(any, place.m_tile)) return grouped::pair_barrier(place);
  const std::uint32_t k_plane = device::shared_address(stage), v_plane = k_plane + Layout<Format>::kPlaneBytes;
  float mine[2][4] = {}, s[4][4];
  Format::scores(mine, q, k_plane, place);
#pragma unroll
  for (auto& tile : mine)
#pragma unroll
    for (float& score : tile) score *= scale;
  grouped::exchange_scores(mine, s, shared + Layout<Format>::kExchange, place);
  std::uint32_t p[2][4];
  float factor[2];
  grouped::softmax_tile<Format::kIsBf16>(s, attended, state, p, factor);
  grouped::carry_on<Format::kIsBf16>(state, factor, p);
  Format::accumulate(state.sums, p, v_plane, place);
}

/// Entries of the first tiles to the ring, the first tiles to their stages.
template <class Format, bool kZero>
__device__ void start_copies(const GroupedAttentionArgs& args, const Work& work, std::byte* shared,
                             const Place& place) {
  std::byte* ring = shared + Layout<Format>::kRing;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < grouped::kRingAhead * grouped::kRingWords)
    grouped::fetch_plan(args, work, thread / grouped::kRingWords, ring, thread % grouped::kRingWords);
  device::commit_copies();
  device::wait_for_copies<0>();
  __syncthreads();
  for (std::int32_t n = 0; n < Format::kStages - 1; ++n) {
    grouped::fetch_tile<Format, kZero>(args, work, n, shared + n * Layout<Format>::kStageBytes, ring, place);
    device::commit_copies();
  }
}

/// Over all tiles of this block; no copy is under way before and after.
template <class Format, bool kZero>
__device__ void sweep(const GroupedAttentionArgs& args, const Work& work,
                      const grouped::Queries<Format::kParkedSteps>& q, float scale, std::byte* shared,
                      const Place& place, bool contain, grouped::RowState<grouped::kWarpTiles>& state) {
  constexpr int kAhead = Format::kStages - 1;
  static_assert(2 * kAhead <= grouped::kRingAhead);  // entries arrive kAhead tiles after their copy began
  const auto stage = [&](std::int32_t n) { return shared + n % Format::kStages * Layout<Format>::kStageBytes; };
  std::byte* ring = shared + Layout<Format>::kRing;
  start_copies<Format, kZero>(args, work, shared, place);
#pragma unroll 1
  for (std::int32_t n = 0; n < work.local; ++n) {
    device::wait_for_copies<kAhead - 1>();
    __syncthreads();
    grouped::fetch_tile<Format, kZero>(args, work, n + kAhead, stage(n + kAhead), ring, place);
    grouped::fetch_plan(args, work, n + grouped::kRingAhead, ring, static_cast<int>(threadIdx.x));
    device::commit_copies();
    if (kZero && contain) {
      grouped::contain_tile<Format>(stage(n) + Layout<Format>::kPlaneBytes,
                                    reinterpret_cast<std::uint32_t*>(shared + Layout<Format>::kHurt) + n);
      __syncthreads();
    }
    attend_tile<Format>(q, scale, shared, stage(n), grouped::ring_entry(ring, n) + kTileMicroblocks, place, state);
  }
  device::wait_for_copies<0>();
  __syncthreads();
}

template <class Format, bool kZero>
__global__ void __launch_bounds__(grouped::kThreads, 2)
    grouped_attention_kernel(const __grid_constant__ GroupedAttentionArgs args, const std::int32_t splits) {
  device::wait_for_previous();
  extern __shared__ __align__(1024) std::byte shared[];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const Place place(warp / 2, warp % 2);
  Work work(args, splits);
  work.count_tiles(args);
  if (work.tiles == 0) return grouped::write_empty_rows<Layout<Format>>(args, work);
  auto* hurt_rows = reinterpret_cast<std::uint32_t*>(shared + Layout<Format>::kHurt);
  auto* again = reinterpret_cast<std::uint32_t*>(shared + Layout<Format>::kAgain);
  for (int n = static_cast<int>(threadIdx.x); kZero && n < grouped::kMaxTiles; n += grouped::kThreads) hurt_rows[n] = 0;
  if (threadIdx.x == 0) *again = 0;
  grouped::Queries<Format::kParkedSteps> q;
  q.parked = device::shared_address(shared + Layout<Format>::kParked) + 16 * threadIdx.x;
  load_queries<Format>(args, work, place, q);
  const float scale = args.softmax_scale * *args.k_scale * 1.44269504088896341f;
  auto* sums = reinterpret_cast<float*>(shared);
  auto* stats = reinterpret_cast<grouped::RowStats*>(shared + Layout<Format>::kStats);
  bool contain = false;
  while (true) {
    grouped::RowState<grouped::kWarpTiles> state;
    sweep<Format, kZero>(args, work, q, scale, shared, place, contain, state);
    grouped::publish_rows<Format>(state, sums, stats, place);
    if (contain) {
      __syncthreads();
      grouped::add_contained<Layout<Format>>(args, work, scale, sums, stats, hurt_rows);
    }
    grouped::group_barrier(work);
    const bool seen = grouped::write_rows<Layout<Format>>(args, work, sums, stats);
    if (!kZero || contain) break;
    if (!grouped::group_hurt(work, again, seen, [] { __syncthreads(); })) return;
    contain = true;
  }
  if (work.splits > 1) grouped::group_parts();
}

/// Blocks that share a group: as many as fill a chip of about 128 multiprocessors once, where the code knows clusters.
std::int32_t splits_for(std::int32_t groups) {
  if (code_architecture() < 90) return 1;
  std::int32_t splits = 1;
  while (splits < 8 && groups * splits * 2 <= 256) splits *= 2;
  return splits;
}

template <class Format, bool kZero>
void launch(const GroupedAttentionArgs& args, KernelPlace place) {
  const auto kernel = grouped_attention_kernel<Format, kZero>;
  constexpr int kBytes = Layout<Format>::kBytes;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  const std::int32_t splits = splits_for(args.groups);
  LaunchAttributes attributes(place.start, static_cast<unsigned>(splits));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(args.groups * splits));
  config.blockDim = dim3(grouped::kThreads);
  config.dynamicSmemBytes = kBytes;
  config.stream = place.stream;
  attributes.add_to(config);
  cudaLaunchKernelEx(&config, kernel, args, splits);
}

template <class Format>
void launch(const GroupedAttentionArgs& args, KernelPlace place) {
  args.zero_unattended ? launch<Format, true>(args, place) : launch<Format, false>(args, place);
}

void require_shape(const GroupedAttentionArgs& args) {
  assert_microblocks(args.pool);
  assert(args.bucket > 0 && args.groups == (args.bucket + kGroupRows - 1) / kGroupRows);
  assert(args.pool.dim == grouped::kDim);
  assert((reinterpret_cast<std::uintptr_t>(args.q) | reinterpret_cast<std::uintptr_t>(args.out) |
          reinterpret_cast<std::uintptr_t>(args.pool.data)) %
             16 ==
         0);
  // A 16-bit cache is multiplied as it is, so the queries have its dtype.
  assert(args.pool.dtype == Dtype::e4m3 ? args.q_dtype == Dtype::fp16 || args.q_dtype == Dtype::bf16
                                        : args.q_dtype == args.pool.dtype);
}

void launch_where(const GroupedAttentionArgs& args, void* stream, bool early) {
  require_shape(args);
  if (has_wgmma())
    grouped_attention_wgmma_launch(args, stream, args.zero_unattended ? GroupedGuard::on : GroupedGuard::off, early);
  else
    grouped_attention_mma_launch(args, stream, early);
}

}  // namespace

void grouped_attention_mma_launch(const GroupedAttentionArgs& args, void* stream, bool early) {
  require_shape(args);
  const KernelPlace to{static_cast<cudaStream_t>(stream), early ? Start::early : Start::after};
  if (args.pool.dtype == Dtype::fp16)
    launch<grouped::Wide<false>>(args, to);
  else if (args.pool.dtype == Dtype::bf16)
    launch<grouped::Wide<true>>(args, to);
  else if (args.q_dtype == Dtype::fp16)
    launch<grouped::Narrow<false>>(args, to);
  else
    launch<grouped::Narrow<true>>(args, to);
}

void grouped_attention_launch(const GroupedAttentionArgs& args, void* stream) {
  launch_where(args, stream, false);
}

void grouped_attention_launch_early(const GroupedAttentionArgs& args, void* stream) {
  launch_where(args, stream, true);
}

}  // namespace refrain
