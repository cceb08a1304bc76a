// One step before it is launched: which rows of which requests it computes. Plain values;
// a plan goes stale part by part when a request is preempted or ends, which its epoch
// and its id tell.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/model/model.hpp"

namespace refrain {

/// Consecutive rows of one request: its tokens from position `first` on, then its drafts.
struct PlanPart {
  std::uint64_t id = 0;
  std::uint32_t epoch = 0;
  std::int32_t first = 0;
  std::int32_t tokens = 0;           ///< of the request that are computed
  std::vector<std::int32_t> drafts;  ///< verify: rows after these
  bool gives = true;                 ///< the step gives the request's next token

  [[nodiscard]] std::int32_t rows() const noexcept { return tokens + static_cast<std::int32_t>(drafts.size()); }
};

struct StepPlan {
  StepShape shape;  ///< of the bucket
  std::vector<PlanPart> parts;

  /// Rows that compute a token of a request.
  [[nodiscard]] std::int32_t useful_rows() const noexcept {
    std::int32_t rows = 0;
    for (const PlanPart& part : parts) rows += part.rows();
    return rows;
  }
  /// Rows that the device is told are real: in a verify step those past a draft's length too, for requests lie evenly.
  [[nodiscard]] std::int32_t real_rows() const noexcept {
    return shape.phase == Phase::verify ? static_cast<std::int32_t>(parts.size()) * shape.query_length : useful_rows();
  }
};

}  // namespace refrain
