// One block a multiprocessor works on a group, or a cluster of up to sixteen shares one
// when groups are too few to fill the chip. Nothing in the loop waits for the whole
// block: stages go from the warpgroups that bring them to the two that attend and back,
// K and V by themselves. Non-finite V costs nothing until it is there: such an element
// shows in the results, and then the group's blocks go over its tiles again with such
// elements taken out. Zeroing what nobody attends and looking at the results cost at most
// 2 % (an H200, with the planner; bench/limits.md).
// What limits: an attender's chain of products, softmax and products, two of which lie
// side by side on the tensor cores; with an E4M3 cache also decoding on the way to
// them; with few groups the start, the end and the part of the chip that they fill.
#include <cassert>
#include <cstdint>
#include <type_traits>

#include "kernels/device/early_start.cuh"
#include "kernels/device/grouped_attend.cuh"
#include "kernels/device/grouped_bring.cuh"
#include "kernels/device/grouped_contain.cuh"
#include "kernels/device/grouped_decode.cuh"
#include "kernels/grouped_attention_kernels.hpp"

namespace refrain {
namespace {

using grouped::Place;
using grouped::WgmmaLayout;
using grouped::Work;

/// The group's 48 rows to shared memory, by all who attend; meanwhile the first tiles are on their way.
template <class L>
__device__ void load_queries(const GroupedAttentionArgs& args, const Work& work, std::byte* shared) {
  constexpr int kChunks = grouped::kDim * 2 / 16, kLoaders = grouped::kAttenders * grouped::kGroupThreads;
  constexpr int kEach = grouped::kRows * kChunks / kLoaders;
  static_assert(kEach * kLoaders == grouped::kRows * kChunks);
  const std::uint32_t to = device::shared_address(shared + L::kQueries);
  // Only groups of eight real rows have tiles; the clamp keeps a wrong plan inside the buffer.
  const std::int64_t last = std::int64_t{args.bucket} * kGroupedHeads - 1;
  const int row = static_cast<int>(threadIdx.x) / kChunks, chunk = static_cast<int>(threadIdx.x) % kChunks;
  constexpr int kStep = kLoaders / kChunks;  // rows
  uint4 four[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    four[i] = static_cast<const uint4*>(
        args.q)[min(std::int64_t{work.group} * grouped::kRows + row + kStep * i, last) * kChunks + chunk];
#pragma unroll
  for (int i = 0; i < kEach; ++i)
    grouped::store_shared16(to + device::panel_chunk(grouped::kRows, row + kStep * i, chunk), four[i]);
  device::publish_to_tensor_cores();
  grouped::attenders_meet();
}

/// Barriers and what has to be zero; then the block may part.
template <class L>
__device__ void set_up(std::byte* shared, const grouped::Stages<L>& stages) {
  auto* hurt_rows = reinterpret_cast<std::uint32_t*>(shared + L::kHurt);
  for (int n = static_cast<int>(threadIdx.x); n < grouped::kMaxTiles; n += L::kThreads) hurt_rows[n] = 0;
  if (threadIdx.x == 0) {
    stages.init();
    *reinterpret_cast<std::uint32_t*>(shared + L::kAgain) = 0;
  }
  __syncthreads();
}

/// After the sums of the block are in shared memory, by all threads: the group's rows. With the protection on, the
/// first time: whether the group's blocks have to go over their tiles again.
template <class L, GroupedGuard kGuard>
[[nodiscard]] __device__ bool write_group(const GroupedAttentionArgs& args, const Work& work, std::byte* shared,
                                          const grouped::Stages<L>& stages, bool second) {
  work.splits > 1 ? grouped::group_barrier(work) : stages.block_meets(second ? 2 : 0);
  const bool seen = grouped::write_rows<L>(args, work, reinterpret_cast<float*>(shared + L::kRing),
                                           reinterpret_cast<grouped::RowStats*>(shared + L::kStats));
  if (kGuard == GroupedGuard::on && !second)
    return grouped::group_hurt(work, reinterpret_cast<std::uint32_t*>(shared + L::kAgain), seen,
                               [&] { stages.block_meets(1); });
  if (work.splits > 1) grouped::group_parts();
  return false;
}

template <class L, GroupedGuard kGuard>
__device__ void bring_all(const GroupedAttentionArgs& args, const Work& work, std::byte* shared,
                          const grouped::Stages<L>& stages, int first, const grouped::PlannedTiles& planned) {
  using Bringer = std::conditional_t<L::kDecodes, grouped::CodeBringer<L>, grouped::WideBringer<L>>;
  Bringer bringer(args, work, shared, stages, first, planned);
  bringer.template sweep<kGuard == GroupedGuard::on, false>(0);
  if (!write_group<L, kGuard>(args, work, shared, stages, false)) return;
  Bringer again(args, work, shared, stages, first, grouped::PlannedTiles(args, work, first, 0, L::kBringers));
  again.template sweep<true, true>(work.local);
  static_cast<void>(write_group<L, kGuard>(args, work, shared, stages, true));
}

/// What both attenders summed, together in the block's shared memory.
template <class L>
__device__ void put_together(const grouped::WarpgroupState& state, std::byte* shared, int attender,
                             const Place& place) {
  auto* sums = reinterpret_cast<float*>(shared + L::kRing);
  auto* stats = reinterpret_cast<grouped::RowStats*>(shared + L::kStats);
  grouped::attenders_meet();  // the sums lie over the stages
  // They meet at one instruction, between the two choices: at two, synccheck takes them for threads that parted.
  attender == 0 ? grouped::give_away<L, 0>(state, sums, stats, place)
                : grouped::give_away<L, 1>(state, sums, stats, place);
  grouped::attenders_meet();
  attender == 0 ? grouped::add_given<L, 0>(state, sums, stats, place)
                : grouped::add_given<L, 1>(state, sums, stats, place);
}

template <class L, GroupedGuard kGuard>
__device__ void attend_all(const GroupedAttentionArgs& args, const Work& work, std::byte* shared,
                           const grouped::Stages<L>& stages, int attender) {
  const Place place(static_cast<int>(threadIdx.x) / 32 % grouped::kGroupWarps, 0);
  const float scale = args.softmax_scale * *args.k_scale * 1.44269504088896341f;
  load_queries<L>(args, work, shared);
  const grouped::HeldQueries<L> queries(device::shared_address(shared + L::kQueries), place);
  grouped::WarpgroupState state;
  grouped::attend<L, kGuard>(work, shared, stages, 0, attender, scale, queries, place, state);
  put_together<L>(state, shared, attender, place);
  if (!write_group<L, kGuard>(args, work, shared, stages, false)) return;
  // Written out: with one loop around both sweeps and their ends, all of the kernel was a tenth slower.
  state = {};
  grouped::attend<L, kGuard>(work, shared, stages, work.local, attender, scale, queries, place, state);
  put_together<L>(state, shared, attender, place);
  grouped::attenders_meet();
  grouped::add_contained<L>(args, work, scale, reinterpret_cast<float*>(shared + L::kRing),
                            reinterpret_cast<grouped::RowStats*>(shared + L::kStats),
                            reinterpret_cast<std::uint32_t*>(shared + L::kHurt));
  static_cast<void>(write_group<L, kGuard>(args, work, shared, stages, true));
}

template <class Format, GroupedGuard kGuard>
__global__ void __launch_bounds__(WgmmaLayout<Format>::kThreads, 1)
    grouped_attention_wgmma_kernel(const __grid_constant__ GroupedAttentionArgs args, const std::int32_t splits) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using L = WgmmaLayout<Format>;
  extern __shared__ __align__(1024) std::byte shared[];
  const grouped::Stages<L> stages(shared);
  set_up<L>(shared, stages);
  device::wait_for_previous();
  Work work(args, splits);
  // Said to be the same in all lanes, so that neither branch is one of single threads.
  const int warpgroup = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / grouped::kGroupThreads, 0);
  const int bringer = warpgroup - grouped::kAttenders;
  grouped::PlannedTiles planned;  // on its way while the tiles are counted
  if (bringer >= 0) planned = {args, work, bringer, 0, L::kBringers};
  work.count_tiles(args);
  if (work.tiles == 0) return grouped::write_empty_rows<L>(args, work);
  if (bringer >= 0) {
    device::give_registers<L::kBringRegisters>();
    bring_all<L, kGuard>(args, work, shared, stages, bringer, planned);
  } else {
    device::take_registers<L::kAttendRegisters>();
    attend_all<L, kGuard>(args, work, shared, stages, warpgroup);
  }
#endif
}

/// A launch of splits blocks a group.
template <class L>
class Launch {
 public:
  Launch(std::int32_t groups, std::int32_t splits, KernelPlace place)
      : attributes_(place.start, static_cast<unsigned>(splits)) {
    config_.gridDim = dim3(static_cast<unsigned>(groups * splits));
    config_.blockDim = dim3(L::kThreads);
    config_.dynamicSmemBytes = L::kBytes;
    config_.stream = place.stream;
    attributes_.add_to(config_);
  }
  [[nodiscard]] const cudaLaunchConfig_t* config() const { return &config_; }

 private:
  LaunchAttributes attributes_;
  cudaLaunchConfig_t config_ = {};
};

/// Blocks that share a group: what makes rounds of the chip, each as long as a block's tiles and a start and an end of
/// it, take the least. From the number of groups alone, so a graph that has it in its key has this in it too.
template <class L, class K>
std::int32_t splits_for(K kernel, std::int32_t groups) {
  constexpr int kFull = 240;  ///< tiles of a group whose eight rows select 2,048 of 8,192 tokens each
  constexpr int kEnds = 16;   ///< start and end of a block, in tiles
  std::int32_t best = 1;
  int least = INT32_MAX;
  // What divides the 48 rows. A cluster lies within one GPC, so the chip holds fewer clusters than it has
  // multiprocessors for, and with powers of two alone the next size down would be half.
  for (const std::int32_t splits : {1, 2, 3, 4, 6, 8, 12, 16}) {
    static_assert(grouped::kRows == 48);
    const Launch<L> launch(groups, splits, {});
    int clusters = 0;
    if (cudaOccupancyMaxActiveClusters(&clusters, kernel, launch.config()) != cudaSuccess || clusters == 0) {
      static_cast<void>(cudaGetLastError());  // a cluster that this device does not have is no error
      continue;
    }
    const int rounds = (groups + clusters - 1) / clusters;
    const int cost = rounds * (kFull / splits + kEnds);
    if (cost >= least) continue;
    least = cost;
    best = splits;
  }
  return best;
}

template <class Format, GroupedGuard kGuard>
void launch(const GroupedAttentionArgs& args, KernelPlace place) {
  const auto kernel = grouped_attention_wgmma_kernel<Format, kGuard>;
  using L = WgmmaLayout<Format>;
  // Not stream operations, so they may be called during capture. An error shows up as the launch's.
  static_cast<void>(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, L::kBytes));
  static_cast<void>(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  const std::int32_t splits = splits_for<L>(kernel, args.groups);
  const Launch<L> how(args.groups, splits, place);
  static_cast<void>(cudaLaunchKernelEx(how.config(), kernel, args, splits));
}

template <class Format>
void launch(const GroupedAttentionArgs& args, KernelPlace place, GroupedGuard guard) {
  switch (guard) {
    case GroupedGuard::on: return launch<Format, GroupedGuard::on>(args, place);
    case GroupedGuard::off: return launch<Format, GroupedGuard::off>(args, place);
    case GroupedGuard::bare: return launch<Format, GroupedGuard::bare>(args, place);
  }
}

}  // namespace

void grouped_attention_wgmma_launch(const GroupedAttentionArgs& args, void* stream, GroupedGuard guard, bool early) {
  const KernelPlace to{static_cast<cudaStream_t>(stream), early ? Start::early : Start::after};
  if (args.pool.dtype == Dtype::fp16)
    launch<grouped::Wide<false>>(args, to, guard);
  else if (args.pool.dtype == Dtype::bf16)
    launch<grouped::Wide<true>>(args, to, guard);
  else if (args.q_dtype == Dtype::fp16)
    launch<grouped::Narrow<false>>(args, to, guard);
  else
    launch<grouped::Narrow<true>>(args, to, guard);
}

}  // namespace refrain
