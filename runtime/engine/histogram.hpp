// Durations, counted in buckets whose width is at most 1/32 of their lower end: a
// percentile is never below the true one and at most 3.2 % above it, at a fixed size
// whatever is added. The maximum, the sum and the count are exact.
#pragma once

#include <array>
#include <cstdint>

namespace refrain {

class Histogram {
 public:
  void add(std::uint64_t ns, std::uint64_t times = 1) noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] std::uint64_t sum_ns() const noexcept { return sum_; }
  [[nodiscard]] std::uint64_t max_ns() const noexcept { return max_; }
  /// The value that `share` of all are at or below, 0 < share <= 1; 0 when there is none.
  [[nodiscard]] std::uint64_t percentile_ns(double share) const noexcept;
  /// How many are at most 2^exponent; exact.
  [[nodiscard]] std::uint64_t at_most_power(std::uint32_t exponent) const noexcept;

 private:
  static constexpr std::uint32_t kBits = 5, kParts = 1u << kBits;
  static constexpr std::size_t kBuckets = (64 - kBits + 1) * kParts;
  /// Bucket i holds the values above upper(i - 1), up to and with upper(i).
  [[nodiscard]] static std::size_t bucket_of(std::uint64_t ns) noexcept;
  [[nodiscard]] static std::uint64_t upper(std::size_t bucket) noexcept;

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t count_ = 0, sum_ = 0, max_ = 0;
};

}  // namespace refrain
