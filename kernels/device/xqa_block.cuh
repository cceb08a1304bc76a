// What a block of xqa_decode does, in pieces. It serves one (slot, partition, KV
// head): its warps take the split's tokens in turn, each with its own copies in
// flight and its own softmax, and never wait for one another until the end, where
// their outputs are added in warp order. So replays give the same bits. What comes
// of a row's splits stands in xqa_merge.cuh.
#pragma once

#include <cstdint>

#include "kernels/device/vector.cuh"
#include "kernels/device/xqa_softmax.cuh"
#include "kernels/device/xqa_stream.cuh"

namespace refrain::device {

inline constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

/// This block's split; begin == end where it has no tokens. A row that the plan is wrong about has none. Read past the
/// L1, which nothing has cleaned when this is read before the wait.
[[nodiscard]] __device__ inline XqaSplit split_of_block(const XqaDecodeArgs& args) {
  XqaSplit split;
  const auto kv_heads = static_cast<std::uint32_t>(args.pool.kv_heads);
  const auto partitions = static_cast<std::uint32_t>(args.partitions);
  const std::uint32_t rest = blockIdx.x / kv_heads;
  split.kv_head = static_cast<std::int32_t>(blockIdx.x % kv_heads);
  split.partition = static_cast<std::int32_t>(rest % partitions);
  split.slot = static_cast<std::int32_t>(rest / partitions);
  split.row = args.every_row ? split.slot : __ldcg(args.slot_rows + split.slot);
  const std::int32_t length = __ldcg(args.lengths + split.slot), active = __ldcg(args.active_partitions);
  // With the lengths, unless the row has to be known first: a trip to memory less before the first tokens.
  if (args.keys == nullptr && args.every_row) split.request = __ldcg(args.batch.token_to_req + split.slot);
  const SplitRule rule{args.partitions, args.partition_tokens};
  split.splits = length < 0 || length > most_tokens(args) ? kSplitMissing : rule.splits(length);
  if (split.splits > active) split.splits = kSplitMissing;
  if (split.row < 0 || split.partition >= split.splits) return split;
  if (args.keys == nullptr && !args.every_row) split.request = __ldcg(args.batch.token_to_req + split.row);
  const std::uint32_t tokens = rule.tokens(length), begin = static_cast<std::uint32_t>(split.partition) * tokens;
  split.begin = static_cast<std::int32_t>(begin);
  split.end = static_cast<std::int32_t>(min(begin + tokens, static_cast<std::uint32_t>(length)));
  // Row r has at most r others of its request ahead of it, each at the position before: the first of them is appended
  // no lower than here. Which tokens keys name is not known yet.
  if (args.keys == nullptr) split.settled = max(length - 1 - split.row, 0);
  return split;
}

/// The query heads of the block's KV head as A fragments; heads past the group are zeros.
template <class Shape>
__device__ void load_query(const XqaDecodeArgs& args, const XqaSplit& split, typename Shape::Tail& tail) {
  const int group = args.heads / args.pool.kv_heads;
  const std::int64_t first = (std::int64_t{split.row} * args.heads + std::int64_t{split.kv_head} * group) * Shape::kDim;
  const std::uint16_t* q = static_cast<const std::uint16_t*>(args.q) + first;
  for (int at = static_cast<int>(threadIdx.x); at < Shape::kQSteps * 32; at += Shape::kThreads) {
    const int step = at / 32, g = at % 32 / 4, t = at % 4;
    const auto pair = [&](int head, int half) {
      if (head >= group) return 0u;
      return *reinterpret_cast<const std::uint32_t*>(q + head * Shape::kDim + query_dim<Shape>(step, half, t));
    };
    tail.q[step][at % 32] = make_uint4(pair(g, 0), pair(g + 8, 0), pair(g, 1), pair(g + 8, 1));
  }
}

/// A fragments from shared memory each time.
template <class Shape>
struct SharedQuery {
  const typename Shape::Tail& tail;
  __device__ void operator()(int step, std::uint32_t (&a)[4]) const {
    const uint4 raw = tail.q[step][threadIdx.x % 32];
    a[0] = raw.x, a[1] = raw.y, a[2] = raw.z, a[3] = raw.w;
  }
};

/// A fragments in registers.
template <class Shape>
struct RegisterQuery {
  std::uint32_t fragments[Shape::kQSteps][4];
  __device__ explicit RegisterQuery(const typename Shape::Tail& tail) {
#pragma unroll
    for (int step = 0; step < Shape::kQSteps; ++step) SharedQuery<Shape>{tail}(step, fragments[step]);
  }
  __device__ void operator()(int step, std::uint32_t (&a)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = fragments[step][i];
  }
};

/// All stages of this warp, of which the first `next` are under way: kStages, of which the first wait is then for two,
/// or one less.
template <class Shape, class Query>
__device__ void attend(XqaSoftmax<Shape>& softmax, XqaStream<Shape>& stream, const XqaSplit& split, const Query& q,
                       std::uint32_t ring, float scale, std::int32_t next) {
  const std::int32_t stages = stream.stages();
  std::int32_t at = 0, free = Shape::kStages - 1;
  for (std::int32_t stage = 0; stage < stages; ++stage) {
    wait_for_copies<Shape::kStages - 2>();
    __syncwarp();  // everyone's copies of this stage are there, and everyone is done with the one before
    if (next < min(stages, stage + Shape::kStages)) {
      stream.load_next(free);
      ++next;
    }
    commit_copies();
    const std::uint32_t k = ring + static_cast<std::uint32_t>(at) * Shape::kStageBytes;
    Scores<Shape> scores = {};
    score_stage<Shape>(scores, q, k);
    std::uint32_t p[Shape::kTokens / 16][4];
    softmax.add_scores(scores, scale, stream.first_token(stage), split.begin, split.end, p);
#pragma unroll
    for (int half = 0; half < Shape::kTokens / 16; ++half)
      accumulate_half<Shape>(softmax.out, p[half], k + Shape::kPlaneBytes, half);
    free = at;
    at = at + 1 == Shape::kStages ? 0 : at + 1;
  }
}

/// Leaves this warp's result where add_warps finds it: the output in the warp's own ring.
template <class Shape>
__device__ void publish(XqaSoftmax<Shape>& softmax, typename Shape::Tail& tail, float* out, int group) {
  const int warp = static_cast<int>(threadIdx.x / 32), g = static_cast<int>(threadIdx.x % 32 / 4);
  const int t = static_cast<int>(threadIdx.x % 4);
  softmax.finish();
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int head = g + 8 * r;
    if (head >= group) continue;
    if (t == 0) tail.max[warp][head] = softmax.max[r], tail.sum[warp][head] = softmax.sum[r];
#pragma unroll
    for (int j = 0; j < Shape::kColumnTiles; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        out[head * Shape::kOutStride + output_dim<Shape>(j, 2 * t + i)] = softmax.out[j][2 * r + i];
  }
}

/// Where a block's heads go: row `first + head * step` of `data`, [.., dim], and of `lse`.
struct XqaRows {
  void* data = nullptr;
  float* lse = nullptr;
  Dtype dtype = Dtype::fp32;
  std::int64_t first = 0, step = 1;

  [[nodiscard]] __device__ std::int64_t at(int head) const { return first + head * step; }
};

/// One head's warps as one: `weights` for their outputs, normalised and with v_scale in it; returns the natural LSE.
/// `empty` is the factor where every score is -inf.
template <class Shape>
__device__ float weigh_warps(const typename Shape::Tail& tail, int head, float v_scale, float empty,
                             float (&weights)[Shape::kWarps]) {
  float max = kMinusInf, sum = 0;
#pragma unroll
  for (int warp = 0; warp < Shape::kWarps; ++warp) max = fmaxf(max, tail.max[warp][head]);
#pragma unroll
  for (int warp = 0; warp < Shape::kWarps; ++warp) {
    weights[warp] = exp2_fast(tail.max[warp][head] - softmax_base(max));
    sum += weights[warp] * tail.sum[warp][head];
  }
  const float factor = sum == 0.0f ? empty : v_scale / sum;
#pragma unroll
  for (int warp = 0; warp < Shape::kWarps; ++warp) weights[warp] *= factor;
  return (max + log2f(sum)) * kLn2;
}

/// The block's heads, of all its warps, into `rows`.
template <class Shape>
__device__ void add_warps(const XqaRows& rows, float v_scale, float empty, const typename Shape::Tail& tail,
                          const char* rings, int group) {
  for (int at = static_cast<int>(threadIdx.x); at < group * (Shape::kDim / 4); at += Shape::kThreads) {
    const int head = at / (Shape::kDim / 4), dim = at % (Shape::kDim / 4) * 4;
    float weights[Shape::kWarps];
    const float lse = weigh_warps<Shape>(tail, head, v_scale, empty, weights);
    float sums[4] = {};
#pragma unroll
    for (int warp = 0; warp < Shape::kWarps; ++warp) {
      const float* out = reinterpret_cast<const float*>(rings + warp * Shape::kRingBytes) + head * Shape::kOutStride;
      const float4 values = *reinterpret_cast<const float4*>(out + dim);
      sums[0] += weights[warp] * values.x, sums[1] += weights[warp] * values.y;
      sums[2] += weights[warp] * values.z, sums[3] += weights[warp] * values.w;
    }
    store_floats<4>(rows.data, rows.dtype, rows.at(head) * Shape::kDim + dim, sums);
    if (dim == 0) rows.lse[rows.at(head)] = lse;
  }
}

}  // namespace refrain::device
