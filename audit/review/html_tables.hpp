// The numbers of a review as tables of its page: totals beside the worst step,
// the first and the worst steps, copies by kind, and what the input could not show.
#pragma once

#include <string>

#include "audit/review/page_plan.hpp"

namespace refrain {

/// The <section> `totals`, with the copies by kind.
[[nodiscard]] std::string html_totals(const Review& review);
/// The <section> `step-table`: the first steps and the worst, each with its numbers.
[[nodiscard]] std::string html_step_table(const Review& review, const PagePlan& plan);
/// The <section> `evidence`: what was not recorded, and what could not be read.
[[nodiscard]] std::string html_evidence(const Review& review);

}  // namespace refrain
