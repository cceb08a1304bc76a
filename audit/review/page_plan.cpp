#include "audit/review/page_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "audit/reports/groups.hpp"
#include "audit/reports/html_parts.hpp"

namespace refrain {
namespace {

std::vector<const Finding*> in_page_order(const Report& report) {
  std::vector<const Finding*> order;
  for (const FindingGroup& group : open_findings(report))
    order.insert(order.end(), group.findings.begin(), group.findings.end());
  const auto excused = excused_findings(report);
  order.insert(order.end(), excused.begin(), excused.end());
  return order;
}

/// Those that count come before those that do not, errors before warnings.
std::vector<const Finding*> by_weight(std::vector<const Finding*> findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Finding* a, const Finding* b) {
    const bool a_open = a->standing == Standing::open, b_open = b->standing == Standing::open;
    return a_open != b_open ? a_open : a->severity > b->severity;
  });
  return findings;
}

/// As many as there is room for.
std::set<const Finding*> with_an_article(const std::vector<const Finding*>& order) {
  std::set<const Finding*> chosen;
  std::size_t bytes = 0;
  for (const Finding* finding : by_weight(order)) {
    const std::size_t with_it = bytes + html_finding(*finding, order.size(), "").size();
    if (with_it > kMostFindingBytes) continue;
    bytes = with_it;
    chosen.insert(finding);
  }
  return chosen;
}

}  // namespace

bool PagePlan::draws(std::size_t step) const {
  return std::find(timelines.begin(), timelines.end(), step) != timelines.end();
}

PagePlan plan_page(const Review& review) {
  PagePlan plan;
  const auto order = in_page_order(review.report);
  const auto chosen = with_an_article(order);
  for (const Finding* finding : order)
    if (chosen.contains(finding))
      plan.findings.push_back({finding, plan.findings.size() + 1, place_of(review, *finding)});
  plan.findings_left_out = order.size() - plan.findings.size();
  if (review.steps.empty()) return plan;
  plan.steps_a_bar = (review.steps.size() + kMostBars - 1) / kMostBars;
  plan.timelines.push_back(std::min(review.totals.worst, review.steps.size() - 1));
  for (const Finding* finding : by_weight(order))
    if (const auto step = place_of(review, *finding).step;
        step && chosen.contains(finding) && !plan.draws(*step) && plan.timelines.size() < kMostTimelines)
      plan.timelines.push_back(*step);
  return plan;
}

std::string bar_id(std::size_t bar) {
  return fmt::format("bar-{}", bar);
}

std::string timeline_id(std::size_t step) {
  return fmt::format("timeline-{}", step + 1);
}

std::string mark_id(std::size_t finding) {
  return fmt::format("mark-{}", finding);
}

}  // namespace refrain
