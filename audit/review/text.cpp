// A review for a terminal: how the steps became known, a line a kind of step, the
// worst step, then the audit's own report.
#include <fmt/format.h>

#include "audit/reports/escape.hpp"
#include "audit/reports/groups.hpp"
#include "audit/review/amounts.hpp"
#include "audit/review/review.hpp"
#include "audit/review/step_kinds.hpp"
#include "audit/review/text_table.hpp"

namespace refrain {
namespace {

constexpr std::size_t kKinds = 20;      // rows of the table
constexpr std::size_t kNameWidth = 40;  // of a kind's name in it
constexpr const char* kUnknown = "-";

std::string time_or_unknown(const std::optional<std::uint64_t>& ns) {
  return ns ? duration_text(*ns) : kUnknown;
}

std::string percent(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f}%", 100 * *share) : kUnknown;
}

std::string short_name(const std::string& name) {
  const std::string text = visible(name.size() > kNameWidth ? name.substr(0, kNameWidth) + "..." : name);
  return text.empty() ? "(no name)" : text;
}

std::vector<std::string> cells(const StepKindRow& row) {
  const StepStats& sum = row.totals.sum;
  return {short_name(row.kind),
          fmt::to_string(row.steps.size()),
          duration_text(row.median_host_ns),
          duration_text(row.worst_host_ns),
          fmt::to_string(sum.replays),
          fmt::to_string(sum.replayed_nodes),
          fmt::to_string(sum.eager_launches),
          fmt::to_string(sum.syncs),
          fmt::to_string(pageable_copies(sum)),
          percent(row.gpu_busy),
          time_or_unknown(row.median_launch_gap_ns),
          time_or_unknown(row.median_between_ns)};
}

std::string kinds_table(const Review& review) {
  std::vector<std::vector<std::string>> rows{{"kind of step", "steps", "host median", "worst", "replays", "nodes",
                                              "eager", "syncs", "pageable", "GPU busy", "launch gap", "between"}};
  const std::vector<StepKindRow> kinds = step_kinds(review);
  for (std::size_t i = 0; i < kinds.size() && i < kKinds; ++i) rows.push_back(cells(kinds[i]));
  std::string text = text_table(rows);
  if (kinds.size() > kKinds) text += fmt::format("  and {} more kinds\n", kinds.size() - kKinds);
  return text +
         "  counts over all steps of a kind; launch gap: from a step's first launch to the device's first work of it,\n"
         "  between: from the end of the replay before to its own begin on the device (medians)\n";
}

std::string copies_text(const StepStats& step) {
  std::string text;
  for (std::size_t c = 0; c < kCopyClasses; ++c)
    if (step.copies[c].count > 0)
      text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", step.copies[c].count,
                          to_string(static_cast<CopyClass>(c)), bytes_text(step.copies[c].bytes));
  return text.empty() ? "none" : text;
}

std::string worst_step(const Review& review) {
  const StepStats& step = review.steps[review.totals.worst];
  const std::string name = visible(review.timeline().text(step.name));
  std::string text = fmt::format("worst step: {} of {}{}, {} of host time, from {} on\n", review.totals.worst + 1,
                                 review.steps.size(), name.empty() ? "" : fmt::format(" ({})", name),
                                 duration_text(host_ns(step)), duration_text(step.start_ns));
  const std::string nodes = step.captured_nodes ? fmt::format(" of {} captured", *step.captured_nodes) : "";
  text +=
      fmt::format("  {} with {} nodes at work{}, {}, {} ({} waited), {} quer{}\n", plural(step.replays, "replay"),
                  step.replayed_nodes, nodes, plural(step.eager_launches, "eager launch"), plural(step.syncs, "sync"),
                  duration_text(step.host_wait_ns), step.queries, step.queries == 1 ? "y" : "ies");
  text += fmt::format("  copies: {}\n", copies_text(step));
  text += fmt::format("  device: busy {}, idle {}; launch gap {}, between replays {}\n",
                      time_or_unknown(step.gpu_busy_ns), time_or_unknown(step.gpu_idle_ns),
                      time_or_unknown(step.launch_gap_ns), time_or_unknown(step.between_replays_ns));
  if (step.instantiations + step.updates + step.module_loads + step.allocations + step.frees > 0)
    text += fmt::format("  also: {}, {}, {}, {}, {}\n", plural(step.instantiations, "instantiation"),
                        plural(step.updates, "exec update"), plural(step.module_loads, "module load"),
                        plural(step.allocations, "allocation"), plural(step.frees, "free"));
  if (step.rows && step.real_rows) text += fmt::format("  rows: {} of {} in use\n", *step.real_rows, *step.rows);
  return text;
}

}  // namespace

std::string review_text(const Review& review, bool colour) {
  std::string text =
      fmt::format("{}\n{}, by {}: {}\n\n", visible(review.recording().name), plural(review.steps.size(), "step"),
                  to_string(review.cut.basis), visible(review.cut.why));
  if (!review.steps.empty()) text += kinds_table(review) + "\n" + worst_step(review) + "\n";
  return text + report_text(review.report, colour);
}

}  // namespace refrain
