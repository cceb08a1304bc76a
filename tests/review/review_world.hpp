// Reviews made by hand, with steps whose every number is known: a millisecond apart, each with a copy, a replay, a
// kernel and a sync, and the device work of the three. Nothing here is cut or judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "audit/review/review.hpp"

namespace refrain::test {

struct ReviewShape {
  std::size_t steps = 6;
  std::size_t nodes = 5;    ///< of a replay
  std::size_t streams = 2;  ///< over which the nodes go in turn
  std::string name = "decode";
  std::string input = "run.sqlite";
  bool device = true;    ///< device work was recorded
  bool findings = true;  ///< one at the copy of the worst step, one at the sync of step 2, one without a place
};

inline constexpr std::uint64_t kStepEvery = 1'000'000, kStepTakes = 400'000, kWorstTakes = 900'000;
/// 1-based: the third, or the last where there are fewer.
[[nodiscard]] std::size_t worst_step(const ReviewShape& shape);
/// When step `number` (1-based) begins.
[[nodiscard]] std::uint64_t step_start(std::size_t number);
/// Sequence number of the copy of step `number`: a step has five calls.
[[nodiscard]] std::uint64_t copy_of(std::size_t number);

[[nodiscard]] Review make_review(const ReviewShape& shape = {});

}  // namespace refrain::test
