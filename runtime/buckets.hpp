// Which padded shape serves n rows: a rising list of sizes, of which the smallest that
// is large enough is the bucket. It knows no graph. Invariant: over every n from 1 to
// the maximum, the rows that pad n to its bucket are at most 12.5 % of n, or one row.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace refrain {

class BucketPolicy {
 public:
  /// Rows of a decode step. Sizes go up by one to 6, by two to 16, then by an eighth of the power of two below: 16, 18,
  /// ... 32, 36,
  /// ... 64, 72, ...: eight to an octave, multiples of a growing power of two, so that kernels find whole tiles in
  /// large buckets. `maximum` is the last size, on that list or not. 512 rows take 51 buckets.
  [[nodiscard]] static BucketPolicy decode_rows(std::int32_t maximum);
  /// Tokens of a prefill chunk, by the same list: 2,048 tokens take 67 buckets.
  [[nodiscard]] static BucketPolicy prefill_tokens(std::int32_t chunk);
  /// Query tokens of a draft verification: 1 + K for every K to `max_drafts`, and nothing is ever padded.
  [[nodiscard]] static BucketPolicy verify_lengths(std::int32_t max_drafts);

  [[nodiscard]] std::span<const std::int32_t> sizes() const& noexcept { return sizes_; }
  /// Of a policy that is about to go: a loop over `decode_rows(24).sizes()` must not outlive it.
  [[nodiscard]] std::vector<std::int32_t> sizes() && { return std::move(sizes_); }
  [[nodiscard]] std::int32_t maximum() const noexcept { return sizes_.back(); }
  /// `rows`, `tokens` or `query tokens`: what is counted.
  [[nodiscard]] const char* unit() const noexcept { return unit_; }

  /// The smallest size that holds `n`. Throws Error{refused} for n below 1 or over the maximum.
  [[nodiscard]] std::int32_t bucket_for(std::int32_t n) const;
  /// The most pads that a bucket of this size may ever have by the bound above, whichever list it is on; always at
  /// least as many as bucket_for() gives it, and never the whole bucket.
  [[nodiscard]] std::int32_t pads_allowed(std::int32_t size) const noexcept;

 private:
  BucketPolicy(const char* unit, bool pads, std::vector<std::int32_t> sizes)
      : unit_(unit), pads_(pads), sizes_(std::move(sizes)) {}

  const char* unit_;
  bool pads_;
  std::vector<std::int32_t> sizes_;
};

}  // namespace refrain
