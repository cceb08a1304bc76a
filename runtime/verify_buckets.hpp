// Pad rows in every bucket: for each size of a step's policy, one graph is captured and
// replayed at every count of pad rows that the policy allows, with poison in the pads and
// in the null block, against the eager run of the same rows. Bits must be equal over the
// whole bucket, pads come out as zeros with an LSE of -inf, and of the KV pool nothing
// changes but what the eager run changes. It stops at a bucket's first failure, not at the
// first bucket that fails.
#pragma once

#include <string>
#include <vector>

#include "runtime/buckets.hpp"
#include "runtime/driver.hpp"
#include "runtime/progress.hpp"
#include "runtime/steps/options.hpp"

namespace refrain {

struct BucketVerdict {
  std::int32_t rows = 0;         ///< of the bucket
  std::int32_t fewest_rows = 0;  ///< real ones that the policy pads to it
  std::int32_t pad_counts = 0;   ///< how many of them were tried
  std::int32_t replays = 0;
  /// Captured for this bucket: 1 where the count of real rows is data, as it should be; one a pad count where memory is
  /// sized by it (mtp_verify, by its requests).
  std::int32_t graphs = 0;
  std::string failure;  ///< the first; empty when there is none
};

struct BucketsResult {
  StepOptions options;  ///< of the largest bucket, without pads
  DeviceInfo device;
  std::vector<BucketVerdict> buckets;  ///< ascending

  /// Null when there is none.
  [[nodiscard]] const BucketVerdict* first_failure() const;
  /// 1 with a failure, else 0.
  [[nodiscard]] int exit_code() const { return first_failure() != nullptr ? 1 : 0; }
};

/// Up to options.rows; by default the step's, and at least 24. Of mtp_verify the policy counts requests of 1 + K rows.
/// A fault that needs pads, or a group of rows, is put into the shapes that have them. Throws Error{usage} for options
/// that don't fit, a bucket among them, and Error{driver, refused} when the world fails.
[[nodiscard]] BucketsResult verify_all_buckets(Driver& driver, const StepOptions& options,
                                               const Progress& progress = {});

}  // namespace refrain
