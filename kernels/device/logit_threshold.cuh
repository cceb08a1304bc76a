// The logit down to which a row's largest entries reach a given sum of something:
// ids, for top-k, or probability, for top-p. Three passes over the row take apart
// the bits of an order-preserving key, each with a histogram in shared memory. All
// sums are integers, so atomics in any order give the same bits.
#pragma once

#include <cub/block/block_scan.cuh>

#include "kernels/device/logit_row.cuh"

namespace refrain::device {

/// Rises with the logit; -0 and +0 have the same.
[[nodiscard]] __device__ inline std::uint32_t key_of(float logit) {
  const std::uint32_t bits = __float_as_uint(logit + 0.0f);
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

inline constexpr std::int32_t kDigitBits = 11, kDigits = 1 << kDigitBits;
static_assert(kDigits == 2 * kDrawThreads, "a thread scans two digits");

struct ThresholdScratch {
  using Scan = cub::BlockScan<unsigned long long, kDrawThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  typename Scan::TempStorage scan;
  std::uint32_t low[kDigits], high[kDigits];  ///< halves of each digit's sum: shared memory adds 32 bits at once
  unsigned long long before;                  ///< sum of the digits above the one that was found
  std::int32_t digit;

  __device__ void add(std::uint32_t at, unsigned long long value) {
    const auto part = static_cast<std::uint32_t>(value);
    const std::uint32_t old = atomicAdd(&low[at], part);
    const std::uint32_t carried = static_cast<std::uint32_t>(value >> 32) + (old + part < old ? 1u : 0u);
    if (carried != 0) atomicAdd(&high[at], carried);
  }
  [[nodiscard]] __device__ unsigned long long sum(std::int32_t at) const {
    return static_cast<unsigned long long>(high[at]) << 32 | low[at];
  }
};

/// Finds the digit, from the largest down, at which the sum reaches `target_of(sum of all digits)`; -1: it never does.
/// Returns the target.
template <class TargetOf>
__device__ unsigned long long find_digit(TargetOf target_of, ThresholdScratch& scratch) {
  const auto top = kDigits - 1 - 2 * static_cast<std::int32_t>(threadIdx.x);
  const unsigned long long mine = scratch.sum(top), next = scratch.sum(top - 1);
  unsigned long long before = 0, total = 0;
  if (threadIdx.x == 0) scratch.digit = -1;
  ThresholdScratch::Scan(scratch.scan).ExclusiveSum(mine + next, before, total);
  __syncthreads();
  const unsigned long long target = target_of(total);
  const auto try_digit = [&](std::int32_t digit, unsigned long long above, unsigned long long sum) {
    if (above < target && target <= above + sum) scratch.digit = digit, scratch.before = above;
  };
  try_digit(top, before, mine);
  try_digit(top - 1, before + mine, next);
  __syncthreads();
  return target;
}

/// The largest key such that `measure(logit)`, summed over all ids with that key or a larger one, reaches the target;
/// 0 where it never does. `target_of` gets the sum over the whole row. By all threads of the block.
template <class Row, class Measure, class TargetOf>
[[nodiscard]] __device__ std::uint32_t threshold_key(const Row& row, Measure measure, TargetOf target_of,
                                                     ThresholdScratch& scratch) {
  std::uint32_t prefix = 0;
  unsigned long long left = 0;
  for (int shift = 32 - kDigitBits, above = 32; above > 0; above = shift, shift = max(0, shift - kDigitBits)) {
    __syncthreads();  // the scratch may still be read
    for (auto at = static_cast<std::int32_t>(threadIdx.x); at < kDigits; at += kDrawThreads)
      scratch.low[at] = scratch.high[at] = 0;
    __syncthreads();
    const std::uint32_t mask = (1u << (above - shift)) - 1;
    for_each_logit(row, [&](float logit, std::int32_t) {
      const std::uint32_t key = key_of(logit);
      if (above < 32 && key >> above != prefix) return;
      if (const unsigned long long value = measure(logit); value != 0) scratch.add(key >> shift & mask, value);
    });
    __syncthreads();
    const bool first = above == 32;
    const unsigned long long target =
        find_digit([&](unsigned long long total) { return first ? target_of(total) : left; }, scratch);
    if (scratch.digit < 0) return 0;
    left = target - scratch.before;
    prefix = prefix << (above - shift) | static_cast<std::uint32_t>(scratch.digit);
  }
  return prefix;
}

}  // namespace refrain::device
