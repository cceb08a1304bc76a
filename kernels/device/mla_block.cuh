// One block's way through its share of a row's list: resolve ahead, gather ahead,
// and a tile at a time decode, score, weigh, accumulate. Where shared memory holds
// two decoded tiles, the next one is decoded while this one's scores are weighed.
// The ring is refilled as soon as nobody needs what lies there. What happens with
// the finished heads is the caller's.
#pragma once

#include <cstdint>

#include "kernels/device/mla_gather.cuh"
#include "kernels/device/mla_records.cuh"
#include "kernels/device/mla_softmax.cuh"
#include "kernels/device/mla_tile.cuh"

namespace refrain::device {

/// The block's shared memory, by name.
template <class Shape>
struct MlaShared {
  explicit __device__ MlaShared(char* shared)
      : base(shared_address(shared)),
        tables(*reinterpret_cast<typename Shape::Tables*>(shared + Shape::kTablesAt)),
        query(shared + Shape::kQueryAt),
        scores(reinterpret_cast<float*>(shared + Shape::kScoreAt)),
        weights(shared + Shape::kWeightAt) {}

  /// Subtiles of tile `tile`, whose first has ring place `slot`.
  [[nodiscard]] __device__ MlaSubs subs(std::int32_t tile, std::int32_t slot) const {
    MlaSubs out;
#pragma unroll
    for (int i = 0; i < Shape::kSubs; ++i) {
      const std::int32_t at = slot + i < Shape::kRingSubs ? slot + i : slot + i - Shape::kRingSubs;
      out.at[i] = Shape::kDecoded ? decoded(tile) + i * Shape::kSubEntries * Shape::kRowBytes
                                  : base + static_cast<std::uint32_t>(at) * Shape::kSubBytes;
    }
    return out;
  }
  [[nodiscard]] __device__ std::uint32_t decoded(std::int32_t tile) const {
    return base + (Shape::kTiles == 2 ? static_cast<std::uint32_t>(tile % 2) * Shape::kTileBytes : 0);
  }

  std::uint32_t base;
  typename Shape::Tables& tables;
  char* query;
  float* scores;
  char* weights;
};

/// Starts the query's copies, a group of their own.
template <class Shape>
__device__ void load_query(const SparseMlaArgs& args, const MlaWork& work, std::uint32_t shared) {
  const auto* from =
      static_cast<const std::byte*>(args.q) + (std::int64_t{work.row} * args.heads + work.head) * Shape::kRowBytes;
#pragma unroll
  for (std::uint32_t first = 0; first < Shape::kHeads * Shape::kPieces; first += Shape::kThreads) {
    const std::uint32_t piece = first + threadIdx.x;
    if (piece < Shape::kHeads * Shape::kPieces)
      gather16(shared + piece / Shape::kPieces * Shape::kQueryStride + piece % Shape::kPieces * 16, from + 16 * piece,
               true);
  }
  commit_copies();
}

/// This thread's copies of `tile` to its bf16 rows; the ring place is free again.
template <class Shape>
__device__ void decode_next(const MlaShared<Shape>& shared, MlaGather<Shape>& gather, std::int32_t tile,
                            std::int32_t slot) {
  gather.wait();
  __syncwarp();
  decode_tile<Shape>(shared.decoded(tile), shared.base + Shape::kRingAt, slot);
  __syncwarp();
  gather.load_next();
}

template <class Shape>
[[nodiscard]] __device__ std::int32_t next_slot(std::int32_t slot) {
  return slot + Shape::kSubs < Shape::kRingSubs ? slot + Shape::kSubs : slot + Shape::kSubs - Shape::kRingSubs;
}

/// Attends the share; true where it has an entry (or a fault takes one in).
template <class Shape>
__device__ bool attend(const SparseMlaArgs& args, MlaWork& work, const MlaShared<Shape>& shared,
                       MlaSoftmax<Shape>& softmax, MlaOutput<Shape>& output) {
  constexpr std::int32_t kAhead = Shape::kTableTiles / 2;
  constexpr bool kDecodesAhead = Shape::kTiles == 2;
  const std::int32_t thread = static_cast<std::int32_t>(threadIdx.x);
  MlaGather<Shape> gather(args, work, shared.tables, shared.base + Shape::kRingAt);
  // Before the records, or it would wait behind them.
  load_query<Shape>(args, work, shared_address(shared.query));
  const bool resolves = thread < kAhead * Shape::kEntries;
  const std::int32_t first_index = resolves ? gather.index_of(thread / Shape::kEntries, thread % Shape::kEntries) : -1;
  read_bounds(args, work);
  const std::int32_t tiles = work.tiles();
  if (tiles == 0) {
    wait_for_copies<0>();
    return false;
  }
  if (resolves) gather.resolve(thread / Shape::kEntries, thread % Shape::kEntries, first_index);
  __syncthreads();
  gather.load_first();
  gather.wait_before_first();
  __syncthreads();
  const MlaQuery<Shape> query(shared_address(shared.query));
  bool any = walks_whole_list(args.faults);
  std::int32_t slot = 0, index = thread < Shape::kEntries ? gather.index_of(kAhead, thread) : -1;
  if constexpr (kDecodesAhead) decode_next(shared, gather, 0, 0);
  for (std::int32_t tile = 0; tile < tiles; ++tile) {
    if constexpr (!Shape::kDecoded) gather.wait();
    __syncthreads();
    if constexpr (Shape::kDecoded && !kDecodesAhead) {
      decode_next(shared, gather, tile, slot);
      __syncthreads();
    }
    const MlaSubs subs = shared.subs(tile, slot);
    score_tile<Shape>(subs, query, shared.scores);
    if (thread < Shape::kEntries) {
      gather.resolve(tile + kAhead, thread, index);
      index = gather.index_of(tile + kAhead + 1, thread);  // not needed before the next tile
    }
    __syncthreads();
    const std::uint32_t* attended = shared.tables.attended[tile % Shape::kTableTiles];
    any = any || (attended[0] | attended[1]) != 0;
    softmax.add_tile(shared.scores, attended, shared.weights, shared.tables.factor);
    slot = next_slot<Shape>(slot);
    if constexpr (kDecodesAhead)
      if (tile + 1 < tiles) decode_next(shared, gather, tile + 1, slot);
    __syncthreads();
    output.scale(shared.tables.factor);
    output.add(subs, shared_address(shared.weights));
    if constexpr (!Shape::kDecoded) {
      __syncthreads();
      gather.load_next();
    }
  }
  __syncthreads();  // the factors are written once more
  softmax.finish();
  return any;
}

/// For every head of this warp's softmax: `finish(head of the block, state)` gives the head's factor; then all warps
/// scale their dims by it.
template <class Shape, class Finish>
__device__ void finish_heads(const MlaShared<Shape>& shared, const MlaSoftmax<Shape>& softmax, MlaOutput<Shape>& output,
                             Finish finish) {
#pragma unroll
  for (int i = 0; i < Shape::kHeadsAWarp; ++i) {
    const int head = static_cast<int>(threadIdx.x / 32) + i * Shape::kWarps;
    if (head < Shape::kHeads && threadIdx.x % 32 == 0) shared.tables.factor[head] = finish(head, softmax.states[i]);
  }
  __syncthreads();
  output.scale(shared.tables.factor);
}

}  // namespace refrain::device
