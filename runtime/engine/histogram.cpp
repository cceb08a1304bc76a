#include "runtime/engine/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace refrain {

/// Of ns - 1, so that a power of two is the upper end of its bucket.
std::size_t Histogram::bucket_of(std::uint64_t ns) noexcept {
  const std::uint64_t value = ns == 0 ? 0 : ns - 1;
  if (value < kParts) return static_cast<std::size_t>(value);
  const auto shift = static_cast<std::uint32_t>(std::bit_width(value)) - 1 - kBits;
  return (std::size_t{shift} + 1) * kParts + static_cast<std::size_t>((value >> shift) - kParts);
}

std::uint64_t Histogram::upper(std::size_t bucket) noexcept {
  if (bucket < kParts) return bucket + 1;
  const std::size_t shift = bucket / kParts - 1;
  return ((bucket % kParts + kParts + 1) << shift);
}

void Histogram::add(std::uint64_t ns, std::uint64_t times) noexcept {
  counts_[bucket_of(ns)] += times;
  count_ += times;
  sum_ += ns * times;
  max_ = std::max(max_, ns);
}

std::uint64_t Histogram::percentile_ns(double share) const noexcept {
  if (count_ == 0) return 0;
  const auto wanted =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_))), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= wanted) return std::min(upper(i), max_);
  }
  return max_;
}

std::uint64_t Histogram::at_most_power(std::uint32_t exponent) const noexcept {
  std::uint64_t seen = 0;
  const std::size_t last = bucket_of(std::uint64_t{1} << exponent);
  for (std::size_t i = 0; i <= last; ++i) seen += counts_[i];
  return seen;
}

}  // namespace refrain
