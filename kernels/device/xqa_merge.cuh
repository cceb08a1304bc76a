// From splits to a row, inside xqa_decode. A block whose row has several splits
// leaves its partial, counts itself in and, where it was the last, merges them all
// in split order out of shared memory, which the rings leave free by then. Until
// then the row holds NaN, which the block of the first split puts there before it
// counts itself in: a count that never comes out right leaves no number behind.
#pragma once

#include <cstdint>

#include "kernels/device/xqa_block.cuh"

namespace refrain::device {

/// As the host's, so that both give the same bits.
[[nodiscard]] __device__ inline float quiet_nan() {
  return __uint_as_float(0x7FC00000u);
}

/// The block's heads in the output, and its split's partials.
[[nodiscard]] __device__ inline XqaRows output_rows(const XqaDecodeArgs& args, const XqaSplit& split, int group) {
  const std::int64_t first = std::int64_t{split.row} * args.heads + std::int64_t{split.kv_head} * group;
  return {args.out, args.lse, args.out_dtype, first, 1};
}

[[nodiscard]] __device__ inline XqaRows partial_rows(const XqaDecodeArgs& args, const XqaSplit& split, int group) {
  const std::int64_t head = std::int64_t{split.slot} * args.heads + std::int64_t{split.kv_head} * group;
  return {args.partials, args.partial_lse, args.partial_dtype, head * args.partitions + split.partition,
          args.partitions};
}

template <class Shape>
__device__ void fill_rows(const XqaRows& rows, int group, float value, float lse) {
  const float values[4] = {value, value, value, value};
  for (int at = static_cast<int>(threadIdx.x); at < group * (Shape::kDim / 4); at += Shape::kThreads)
    store_floats<4>(rows.data, rows.dtype, rows.first * Shape::kDim + 4 * at, values);
  if (static_cast<int>(threadIdx.x) < group) rows.lse[rows.first + static_cast<int>(threadIdx.x)] = lse;
}

/// Counts the block's split in, a counter a head, when all its threads have stored their part of the partial. True
/// where heads of tail.complete are to be merged here: everything that their splits stored can then be read.
template <class Shape>
__device__ bool count_in(const XqaDecodeArgs& args, const XqaSplit& split, typename Shape::Tail& tail, int group) {
  __syncthreads();
  if (threadIdx.x < 32) {
    bool last = false;
    if (static_cast<int>(threadIdx.x) < group) {
      const std::uint32_t ticket = split_ticket(static_cast<std::uint32_t>(split.splits));
      const std::int64_t head =
          std::int64_t{split.slot} * args.heads + std::int64_t{split.kv_head} * group + threadIdx.x;
      // Release: the block's stores, which the barrier put before, are before the count. Acquire: what others stored
      // before theirs is behind it, and behind the next barrier for the whole block.
      std::uint32_t before;
      asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;"
                   : "=r"(before)
                   : "l"(args.counters + head), "r"(ticket)
                   : "memory");
      last = before == ticket * (static_cast<std::uint32_t>(split.splits) - 1);
    }
    const std::uint32_t complete = __ballot_sync(~0u, last);
    if (threadIdx.x == 0) tail.complete = complete;
  }
  __syncthreads();
  return tail.complete != 0;
}

/// Some of a row's splits in shared memory: `count` from split `first`, at most `room`, [group, room, ...].
struct XqaChunk {
  char* partials = nullptr;
  float* weights = nullptr;  ///< the LSEs at first
  float* merged = nullptr;   ///< [group, dim]: of the chunks before, not yet divided by their sum
  std::int32_t room = 0, first = 0, count = 0;
};

template <class Shape>
[[nodiscard]] __device__ XqaChunk make_chunk(char* shared, int group, int row_bytes) {
  constexpr int kMergedBytes = Shape::kDim * static_cast<int>(sizeof(float));
  XqaChunk chunk;
  chunk.room =
      (Shape::kWarps * Shape::kRingBytes / group - kMergedBytes) / (row_bytes + static_cast<int>(sizeof(float)));
  chunk.merged = reinterpret_cast<float*>(shared);
  chunk.partials = shared + group * kMergedBytes;
  chunk.weights = reinterpret_cast<float*>(chunk.partials + group * chunk.room * row_bytes);
  return chunk;
}

/// Starts the copies of the chunk's partials and brings its LSEs. Past the L1, as nothing vouches for what it holds.
template <class Shape>
__device__ void load_chunk(const XqaRows& splits, const XqaChunk& chunk, std::uint32_t heads, int group,
                           int row_bytes) {
  for (int head = 0; head < group; ++head) {
    if ((heads >> head & 1) == 0) continue;
    const char* from = static_cast<const char*>(splits.data) + (splits.at(head) + chunk.first) * row_bytes;
    const std::uint32_t to = shared_address(chunk.partials + head * chunk.room * row_bytes);
    for (int at = static_cast<int>(threadIdx.x) * 16; at < chunk.count * row_bytes; at += Shape::kThreads * 16)
      copy16_or_zero(to + at, from + at, true);
  }
  commit_copies();
  for (int at = static_cast<int>(threadIdx.x); at < group * chunk.count; at += Shape::kThreads) {
    const int head = at / chunk.count, split = at % chunk.count;
    if (heads >> head & 1)
      chunk.weights[head * chunk.room + split] = __ldcg(splits.lse + splits.at(head) + chunk.first + split);
  }
}

/// One warp: a head's LSEs to weights against the largest so far, and what that makes of the chunks before.
template <class Shape>
__device__ void weigh_chunk(const XqaChunk& chunk, typename Shape::Tail& tail, int head) {
  const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
  float* weights = chunk.weights + head * chunk.room;
  const float before = chunk.first == 0 ? kMinusInf : tail.merged_max[head];
  float max = before, sum = 0;
  for (std::int32_t split = lane; split < chunk.count; split += 32) max = fmaxf(max, weights[split]);
#pragma unroll
  for (int step = 16; step > 0; step /= 2) max = fmaxf(max, __shfl_xor_sync(~0u, max, step));
  for (std::int32_t split = lane; split < chunk.count; split += 32) {
    weights[split] = expf(weights[split] - softmax_base(max));
    sum += weights[split];
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  __syncwarp();  // all lanes have read the largest of before
  if (lane != 0) return;
  const float rescale = expf(before - softmax_base(max));
  tail.merged_sum[head] = chunk.first == 0 ? sum : tail.merged_sum[head] * rescale + sum;
  tail.merged_max[head] = max;
  tail.rescale[head] = rescale;
}

/// The chunk onto the chunks before; behind the last one the row is written.
template <class Shape>
__device__ void add_chunk(const XqaRows& out, const XqaChunk& chunk, const typename Shape::Tail& tail, int group,
                          Dtype dtype, bool is_last) {
  for (int at = static_cast<int>(threadIdx.x); at < group * (Shape::kDim / 4); at += Shape::kThreads) {
    const int head = at / (Shape::kDim / 4), dim = at % (Shape::kDim / 4) * 4;
    if ((tail.complete >> head & 1) == 0) continue;
    float sums[4] = {};
    float* merged = chunk.merged + head * Shape::kDim + dim;
    for (int i = 0; i < 4 && chunk.first > 0; ++i) sums[i] = merged[i] * tail.rescale[head];
    const float* weights = chunk.weights + head * chunk.room;
#pragma unroll 4
    for (std::int32_t split = 0; split < chunk.count; ++split) {
      float partial[4];
      load_floats<4>(chunk.partials, dtype, std::int64_t{head * chunk.room + split} * Shape::kDim + dim, partial);
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[i] += weights[split] * partial[i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[i] = is_last ? __fdiv_rn(sums[i], tail.merged_sum[head]) : sums[i];
    if (!is_last) {
      store_floats<4>(merged, Dtype::fp32, 0, sums);
      continue;
    }
    store_floats<4>(out.data, out.dtype, out.at(head) * Shape::kDim + dim, sums);
    if (dim == 0) out.lse[out.at(head)] = tail.merged_max[head] + logf(tail.merged_sum[head]);
  }
}

/// All splits of the heads in tail.complete. A row's splits are few and fit at once, or come in chunks.
template <class Shape>
__device__ void merge_splits(const XqaDecodeArgs& args, const XqaSplit& split, typename Shape::Tail& tail, char* shared,
                             int group) {
  const int row_bytes = Shape::kDim * (args.partial_dtype == Dtype::fp32 ? 4 : 2);
  XqaRows splits = partial_rows(args, split, group);
  splits.first -= split.partition;
  XqaChunk chunk = make_chunk<Shape>(shared, group, row_bytes);
  for (; chunk.first < split.splits; chunk.first += chunk.room) {
    chunk.count = min(chunk.room, split.splits - chunk.first);
    load_chunk<Shape>(splits, chunk, tail.complete, group, row_bytes);
    __syncthreads();
    for (int head = static_cast<int>(threadIdx.x / 32); head < group; head += Shape::kWarps)
      if (tail.complete >> head & 1) weigh_chunk<Shape>(chunk, tail, head);
    wait_for_copies<0>();
    __syncthreads();
    const bool is_last = chunk.first + chunk.count == split.splits;
    add_chunk<Shape>(output_rows(args, split, group), chunk, tail, group, args.partial_dtype, is_last);
    __syncthreads();  // the next chunk takes this one's place
  }
}

}  // namespace refrain::device
