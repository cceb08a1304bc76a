// What a block does with one row of weights over the vocabulary: find the largest
// logit, sum weights over runs of consecutive ids, draw an id. A warp owns a run,
// so a draw walks one run and not the row; every order is fixed by the vocabulary,
// so a replay gives the same bits. All threads of the block call these together.
#pragma once

#include <cstdint>

#include "kernels/verify_draft.hpp"

namespace refrain::device {

inline constexpr std::int32_t kDrawThreads = 32 * kDrawRuns;

/// In shared memory, one a block.
struct DrawScratch {
  float values[kDrawRuns];
  std::int32_t ids[kDrawRuns];
  std::int32_t drawn;
};

/// The largest logit and its lowest id; INT32_MAX where nothing is above -inf.
struct Largest {
  float value = -__builtin_huge_valf();
  std::int32_t id = INT32_MAX;

  __device__ void take(float other, std::int32_t other_id) {
    if (other > value || (other == value && other_id < id)) value = other, id = other_id;
  }
};

struct RowScan {
  Largest largest;
  bool bad;  ///< a NaN in it, or nothing above -inf
};

/// Over the block, the same in every thread.
[[nodiscard]] __device__ inline Largest reduce(Largest mine, DrawScratch& scratch) {
  for (int offset = 16; offset > 0; offset /= 2)
    mine.take(__shfl_xor_sync(~0u, mine.value, offset), __shfl_xor_sync(~0u, mine.id, offset));
  __syncthreads();  // the scratch may still be read
  if (threadIdx.x % 32 == 0) scratch.values[threadIdx.x / 32] = mine.value, scratch.ids[threadIdx.x / 32] = mine.id;
  __syncthreads();
  Largest all;
  for (std::int32_t run = 0; run < kDrawRuns; ++run) all.take(scratch.values[run], scratch.ids[run]);
  return all;
}

/// `kVector`: the row is aligned to 16 bytes and its width a multiple of 4.
template <bool kVector>
[[nodiscard]] __device__ RowScan scan_row(const float* logits, std::int32_t vocab, DrawScratch& scratch) {
  constexpr std::int32_t kWidth = kVector ? 4 : 1;
  Largest mine;
  bool nan = false;
  const auto take = [&](float logit, std::int32_t id) {
    nan = nan || isnan(logit);
    if (logit > mine.value) mine.value = logit, mine.id = id;  // ids rise, so the first of equals stays
  };
#pragma unroll 4
  for (auto id = static_cast<std::int32_t>(threadIdx.x) * kWidth; id < vocab; id += kDrawThreads * kWidth) {
    if constexpr (kVector) {
      const float4 four = __ldg(reinterpret_cast<const float4*>(logits + id));
      take(four.x, id), take(four.y, id + 1), take(four.z, id + 2), take(four.w, id + 3);
    } else {
      take(__ldg(logits + id), id);
    }
  }
  const bool any_nan = __syncthreads_or(nan);
  const Largest largest = reduce(mine, scratch);
  return {largest, any_nan || largest.id == INT32_MAX};
}

/// Ids of one run. The last runs of a small vocabulary hold none.
struct Run {
  std::int32_t first, end;

  __device__ Run(std::int32_t vocab, std::int32_t at) {
    const std::int32_t ids = (vocab - 1) / kDrawRuns + 1;
    first = min(at * ids, vocab);
    end = min(first + ids, vocab);
  }
};

/// Leaves each run's sum in `scratch.values` and gives their sum.
template <class Weight>
[[nodiscard]] __device__ float sum_runs(std::int32_t vocab, Weight weight, DrawScratch& scratch) {
  const auto warp = static_cast<std::int32_t>(threadIdx.x / 32), lane = static_cast<std::int32_t>(threadIdx.x % 32);
  const Run run(vocab, warp);
  float sum = 0;
#pragma unroll 8
  for (std::int32_t id = run.first + lane; id < run.end; id += 32) sum += weight(id);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  __syncthreads();  // the scratch may still be read
  if (lane == 0) scratch.values[warp] = sum;
  __syncthreads();
  float total = 0;
  for (std::int32_t at = 0; at < kDrawRuns; ++at) total += scratch.values[at];
  return total;
}

/// By one warp: the first id of the run at which the sum that begins at `sum` passes `target`, or the last with weight.
template <class Weight>
[[nodiscard]] __device__ std::int32_t walk_run(const Run& run, Weight weight, float sum, float target) {
  const auto lane = static_cast<std::int32_t>(threadIdx.x % 32);
  std::int32_t last = -1;
  for (std::int32_t first = run.first; first < run.end; first += 32) {
    const std::int32_t id = first + lane;
    const float mine = id < run.end ? weight(id) : 0.0f;
    float up_to = mine;
#pragma unroll
    for (int offset = 1; offset < 32; offset *= 2) {
      const float before = __shfl_up_sync(~0u, up_to, offset);
      if (lane >= offset) up_to += before;
    }
    const unsigned passed = __ballot_sync(~0u, mine > 0 && sum + up_to > target);
    if (passed != 0) return first + __ffs(static_cast<int>(passed)) - 1;
    const unsigned weighty = __ballot_sync(~0u, mine > 0);
    if (weighty != 0) last = first + 31 - __clz(static_cast<int>(weighty));
    sum += __shfl_sync(~0u, up_to, 31);
  }
  return last;
}

/// After sum_runs of the same weights, whose sum `total` is above 0. Never an id without weight.
template <class Weight>
[[nodiscard]] __device__ std::int32_t draw(std::int32_t vocab, Weight weight, float total, float u,
                                           DrawScratch& scratch) {
  const float target = u * total;
  float before = 0;
  std::int32_t at = 0;
  while (at < kDrawRuns - 1 && before + scratch.values[at] <= target) before += scratch.values[at++];
  if (static_cast<std::int32_t>(threadIdx.x / 32) == at) {
    const std::int32_t drawn = walk_run(Run(vocab, at), weight, before, target);
    if (threadIdx.x % 32 == 0) scratch.drawn = drawn;
  }
  __syncthreads();
  return scratch.drawn;
}

}  // namespace refrain::device
