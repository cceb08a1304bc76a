#include "audit/review/step_kinds.hpp"

#include <algorithm>
#include <unordered_map>

#include "traces/step_names.hpp"

namespace refrain {
namespace {

/// The lower of the two in the middle of an even number: a value that was measured.
std::optional<std::uint64_t> median(std::vector<std::uint64_t> values) {
  if (values.empty()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::uint64_t whole_ns(const StepStats& step) {
  return std::max(host_ns(step), *step.device_end_ns - *step.device_start_ns);
}

void finish(const Review& review, StepKindRow& row) {
  std::vector<StepStats> steps;
  std::vector<std::uint64_t> host, gaps, between;
  std::uint64_t busy = 0, whole = 0;
  for (const std::size_t i : row.steps) {
    const StepStats& step = steps.emplace_back(review.steps[i]);
    host.push_back(host_ns(step));
    if (step.launch_gap_ns) gaps.push_back(*step.launch_gap_ns);
    if (step.between_replays_ns) between.push_back(*step.between_replays_ns);
    if (!step.gpu_busy_ns) continue;
    busy += *step.gpu_busy_ns;
    whole += whole_ns(step);
  }
  row.totals = total(steps);
  row.totals.worst = row.steps[row.totals.worst];
  row.worst_host_ns = host_ns(review.steps[row.totals.worst]);
  row.median_host_ns = median(std::move(host)).value_or(0);
  row.median_launch_gap_ns = median(std::move(gaps));
  row.median_between_ns = median(std::move(between));
  if (whole > 0) row.gpu_busy = static_cast<double>(busy) / static_cast<double>(whole);
}

}  // namespace

std::optional<double> gpu_busy(const StepStats& step) {
  if (!step.gpu_busy_ns || whole_ns(step) == 0) return std::nullopt;
  return static_cast<double>(*step.gpu_busy_ns) / static_cast<double>(whole_ns(step));
}

std::uint64_t pageable_copies(const StepStats& step) {
  return step.copies[static_cast<std::size_t>(CopyClass::h2d_pageable)].count +
         step.copies[static_cast<std::size_t>(CopyClass::d2h_pageable)].count;
}

std::vector<StepKindRow> step_kinds(const Review& review) {
  std::vector<StepKindRow> rows;
  std::unordered_map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < review.steps.size(); ++i) {
    const std::string kind = step_kind(review.timeline().text(review.steps[i].name));
    const auto [at, fresh] = place.try_emplace(kind, rows.size());
    if (fresh) rows.push_back({kind, {}, {}, 0, 0, {}, {}, {}});
    rows[at->second].steps.push_back(i);
  }
  for (StepKindRow& row : rows) finish(review, row);
  return rows;
}

}  // namespace refrain
