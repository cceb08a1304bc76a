// One row of logits in any of three dtypes, read in runs of 16 bytes: a walk over
// all its ids by a block, and the scan that finds its largest. It builds on
// token_draw.cuh, which reads fp32 alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/token_draw.cuh"
#include "kernels/device/vector.cuh"

namespace refrain::device {

/// The dtype is a constant here, unlike elsewhere: a branch on it in a loop over a whole vocabulary would show.
/// `kVector`: the row is aligned to 16 bytes and its width a multiple of a run.
template <Dtype kDtype, bool kVector>
struct LogitRow {
  static constexpr int kRun = kVector ? 16 / static_cast<int>(dtype_bytes(kDtype)) : 1;
  using Raw = Words<kRun* static_cast<int>(dtype_bytes(kDtype))>;
  const void* data;
  std::int64_t first;  ///< element at which the row begins
  std::int32_t vocab;

  __device__ float operator[](std::int32_t id) const {
    float one[1];
    load_floats<1>(data, kDtype, first + id, one);
    return one[0];
  }
  __device__ Raw load(std::int32_t id) const {
    Raw raw;
    raw.load(static_cast<const std::byte*>(data) + (first + id) * static_cast<std::int64_t>(dtype_bytes(kDtype)));
    return raw;
  }
  __device__ static void decode(const Raw& raw, float (&run)[kRun]) { load_floats<kRun>(raw.words, kDtype, 0, run); }
};

/// Calls `visit(logit, id)` for this thread's share of the ids, in rising order. Four runs are asked for at a time.
template <class Row, class Visit>
__device__ void for_each_logit(const Row& row, Visit visit) {
  constexpr std::int32_t kStep = kDrawThreads * Row::kRun, kAhead = 4;
  for (auto id = static_cast<std::int32_t>(threadIdx.x) * Row::kRun; id < row.vocab; id += kAhead * kStep) {
    typename Row::Raw raw[kAhead];
#pragma unroll
    for (std::int32_t j = 0; j < kAhead; ++j)
      if (id + j * kStep < row.vocab) raw[j] = row.load(id + j * kStep);
#pragma unroll
    for (std::int32_t j = 0; j < kAhead; ++j) {
      if (id + j * kStep >= row.vocab) break;
      float run[Row::kRun];
      Row::decode(raw[j], run);
#pragma unroll
      for (int i = 0; i < Row::kRun; ++i) visit(run[i], id + j * kStep + i);
    }
  }
}

/// By the whole block, the same in every thread.
template <class Row>
[[nodiscard]] __device__ RowScan scan_logits(const Row& row, DrawScratch& scratch) {
  Largest mine;
  bool nan = false;
  for_each_logit(row, [&](float logit, std::int32_t id) {
    nan = nan || is_nan(logit);
    if (logit > mine.value) mine.value = logit, mine.id = id;  // ids rise, so the first of equals stays
  });
  const bool any_nan = __syncthreads_or(nan);
  const Largest largest = reduce(mine, scratch);
  return {largest, any_nan || largest.id == INT32_MAX};
}

/// On the host: calls `launch.operator()<dtype, vector>()` for rows as they are.
template <class Launch>
void for_logit_kind(const void* data, Dtype dtype, std::int32_t vocab, Launch launch) {
  const bool vector = vocab * dtype_bytes(dtype) % 16 == 0 && aligned16(data);
  const auto of = [&]<Dtype kDtype>() {
    vector ? launch.template operator()<kDtype, true>() : launch.template operator()<kDtype, false>();
  };
  switch (dtype) {
    case Dtype::fp16: return of.template operator()<Dtype::fp16>();
    case Dtype::bf16: return of.template operator()<Dtype::bf16>();
    default: return of.template operator()<Dtype::fp32>();
  }
}

}  // namespace refrain::device
