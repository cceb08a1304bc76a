// A reviewed trace: its steps with what each cost, and what the audit finds in
// it. One value that every writer of a review works from: text, JSON, the page, the
// trace for Perfetto, the tables. It owns the trace.
#pragma once

#include <string>
#include <vector>

#include "audit/report.hpp"
#include "audit/subject.hpp"
#include "traces/cut_steps.hpp"
#include "traces/step_stats.hpp"

namespace refrain {

struct Review {
  Subject subject;  ///< one recording
  StepCut cut;
  std::vector<StepStats> steps;
  StepTotals totals;
  Report report;

  [[nodiscard]] const Recording& recording() const { return subject.recordings.front(); }
  [[nodiscard]] const Timeline& timeline() const { return recording().timeline; }
};

/// Throws Error{input} for a recording without a timeline, Error{usage} for a choice that fits no range.
[[nodiscard]] Review review(Recording recording, const StepChoice& choice = {});

/// For a terminal: basis of the steps, one line a kind of step, the worst step, findings, what was not checked.
[[nodiscard]] std::string review_text(const Review& review, bool colour = false);
/// `refrain.review/1`.
[[nodiscard]] std::string review_json(const Review& review, const Threshold& threshold = {});
/// One self-contained page: step strip, timeline of the worst step, findings, tables.
[[nodiscard]] std::string review_html(const Review& review);
/// Chrome trace events for Perfetto: calls, device work, ranges, and the findings as marks.
void write_chrome_trace(const Review& review, const std::string& path);
/// Two reviews side by side: totals, medians a step, findings that are new or gone. Text or `refrain.review-diff/1`.
[[nodiscard]] std::string review_diff_text(const Review& before, const Review& after, bool colour = false);
[[nodiscard]] std::string review_diff_json(const Review& before, const Review& after);

}  // namespace refrain
