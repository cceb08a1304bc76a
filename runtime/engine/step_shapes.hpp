// The shapes that an engine runs: every bucket of every phase that its limits allow, and
// which of them serves a given batch. It knows no graph and no request.
#pragma once

#include <vector>

#include "runtime/buckets.hpp"
#include "runtime/model/model.hpp"

namespace refrain {

class StepShapes {
 public:
  /// Throws Error{refused} for limits that no server can have.
  StepShapes(const ServingLimits& limits, bool drafts);

  [[nodiscard]] std::vector<StepShape> all() const;
  [[nodiscard]] StepShape prefill(std::int32_t rows) const;
  [[nodiscard]] StepShape decode(std::int32_t requests) const;
  [[nodiscard]] StepShape verify(std::int32_t requests, std::int32_t query_length) const;

  /// K of the longest draft; 0 where nothing is drafted.
  [[nodiscard]] std::int32_t drafts() const noexcept { return drafts_; }

 private:
  std::int32_t prefill_requests_, verify_requests_, drafts_;
  BucketPolicy prefill_rows_, decode_rows_, verify_policy_;
};

/// `decode of 24 rows`, `verify of 4 requests, 5 rows each`
[[nodiscard]] std::string describe(const StepShape& shape);

}  // namespace refrain
