// What stands on the page of a review, decided before any of it is written, so that each part can
// link to the others: which findings, which steps are drawn in time, how many steps
// share a bar. Every number is bounded, whatever the trace.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "audit/review/finding_place.hpp"

namespace refrain {

struct PageFinding {
  const Finding* finding = nullptr;
  std::size_t number = 0;  ///< on the page, from 1 on
  FindingPlace place;
};

struct PagePlan {
  std::vector<PageFinding> findings;  ///< as a reader wants them: the open ones by group, then those that do not count
  std::size_t findings_left_out = 0;
  std::vector<std::size_t> timelines;  ///< steps that are drawn in time, the worst one first
  std::size_t steps_a_bar = 1;

  [[nodiscard]] bool draws(std::size_t step) const;
  [[nodiscard]] std::size_t bar_of(std::size_t step) const { return step / steps_a_bar; }
};

inline constexpr std::size_t kMostBars = 240, kMostTimelines = 4, kMostFindingBytes = 300'000;

[[nodiscard]] PagePlan plan_page(const Review& review);

// Ids on the page.
[[nodiscard]] std::string bar_id(std::size_t bar);
[[nodiscard]] std::string timeline_id(std::size_t step);
[[nodiscard]] std::string mark_id(std::size_t finding);

}  // namespace refrain
