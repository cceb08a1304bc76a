#include "audit/review/html_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "audit/reports/groups.hpp"
#include "audit/reports/lines.hpp"
#include "audit/review/page_words.hpp"

namespace refrain {
namespace {

constexpr std::size_t kMostRows = 40;  // of the first steps, and of the worst
constexpr std::size_t kMostLimits = 50;

std::string count_text(const std::optional<std::uint64_t>& count) {
  return count ? fmt::to_string(*count) : "not known";
}

/// One thing that a step is measured by; `each`: in the table of steps, not in the totals alone.
struct Measure {
  const char* title;
  std::string (*value)(const StepStats& step);
  bool each = false;
  std::uint64_t StepTotals::*known = nullptr;  ///< in how many steps it is known, where that is not all
};

Tally all_copies(const StepStats& step) {
  Tally all;
  for (const Tally& copies : step.copies) all = {all.count + copies.count, all.bytes + copies.bytes};
  return all;
}

constexpr Measure kMeasures[] = {
    {"GPU busy", [](const StepStats& s) { return duration_text(s.gpu_busy_ns); }, true, &StepTotals::with_device_time},
    {"GPU idle", [](const StepStats& s) { return duration_text(s.gpu_idle_ns); }, true, &StepTotals::with_device_time},
    {"Launch gap", [](const StepStats& s) { return duration_text(s.launch_gap_ns); }, true,
     &StepTotals::with_launch_gap},
    {"Between replays", [](const StepStats& s) { return duration_text(s.between_replays_ns); }, true,
     &StepTotals::with_time_between},
    {"Replays", [](const StepStats& s) { return fmt::to_string(s.replays); }, true},
    {"Replayed nodes", [](const StepStats& s) { return fmt::to_string(s.replayed_nodes); }, true},
    {"Captured nodes", [](const StepStats& s) { return count_text(s.captured_nodes); }, false,
     &StepTotals::with_captured_nodes},
    {"Eager launches", [](const StepStats& s) { return fmt::to_string(s.eager_launches); }, true},
    {"Syncs", [](const StepStats& s) { return fmt::to_string(s.syncs); }, true},
    {"Waited in syncs", [](const StepStats& s) { return duration_text(s.host_wait_ns); }, true},
    {"Queries", [](const StepStats& s) { return fmt::to_string(s.queries); }},
    {"Copies", [](const StepStats& s) { return fmt::to_string(all_copies(s).count); }, true},
    {"Bytes copied", [](const StepStats& s) { return bytes_text(all_copies(s).bytes); }, true},
    {"Copies inside replays", [](const StepStats& s) { return fmt::to_string(s.replayed_copies); }},
    {"Instantiations", [](const StepStats& s) { return fmt::to_string(s.instantiations); }},
    {"Exec updates", [](const StepStats& s) { return fmt::to_string(s.updates); }},
    {"Module loads", [](const StepStats& s) { return fmt::to_string(s.module_loads); }},
    {"Allocations", [](const StepStats& s) { return fmt::to_string(s.allocations); }},
    {"Frees", [](const StepStats& s) { return fmt::to_string(s.frees); }},
    {"Rows of the bucket", [](const StepStats& s) { return count_text(s.rows); }, false, &StepTotals::with_rows},
    {"Real rows", [](const StepStats& s) { return count_text(s.real_rows); }, false, &StepTotals::with_real_rows},
};

/// With the number of steps that it is a sum over, where that is not all of them.
std::string sum_text(const StepTotals& totals, const Measure& measure) {
  const std::string value = measure.value(totals.sum);
  const std::uint64_t known = measure.known == nullptr ? totals.steps : totals.*measure.known;
  return known == 0 || known == totals.steps ? value : fmt::format("{} in {}", value, plural(known, "step"));
}

void write_copies(Lines& out, const Review& review, const StepStats* worst) {
  out.line(
      "<table><caption>Copies asked for in steps, by kind</caption><thead><tr><th scope=\"col\">Kind</th><th "
      "scope=\"col\">Copies</th><th scope=\"col\">Bytes</th><th scope=\"col\">Copies in the worst step</th><th "
      "scope=\"col\">Bytes in the worst step</th></tr></thead><tbody>");
  for (std::size_t i = 0; i < kCopyClasses; ++i) {
    const Tally& all = review.totals.sum.copies[i];
    const Tally one = worst != nullptr ? worst->copies[i] : Tally{};
    out.line("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
             to_string(static_cast<CopyClass>(i)), all.count, bytes_text(all.bytes), one.count, bytes_text(one.bytes));
  }
  out.line("</tbody></table>");
}

void write_steps(Lines& out, const Review& review, const PagePlan& plan, const std::vector<std::size_t>& steps,
                 std::string_view caption) {
  out.line("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">", caption);
  out.line(
      "<table><caption>{}</caption><thead><tr><th scope=\"col\">Step</th><th scope=\"col\">Begins</th><th "
      "scope=\"col\">Host time</th>",
      caption);
  for (const Measure& measure : kMeasures)
    if (measure.each) out.line("<th scope=\"col\">{}</th>", measure.title);
  out.line("</tr></thead><tbody>");
  for (const std::size_t i : steps) {
    const StepStats& step = review.steps[i];
    const std::string name = step_text(review, i);
    out.line("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
             plan.draws(i) ? fmt::format("<a href=\"#{}\">{}</a>", timeline_id(i), name) : name,
             duration_text(step.start_ns), duration_text(host_ns(step)));
    for (const Measure& measure : kMeasures)
      if (measure.each) out.line("<td>{}</td>", measure.value(step));
    out.line("</tr>");
  }
  out.line("</tbody></table></div>");
}

}  // namespace

std::string html_totals(const Review& review) {
  Lines out;
  const StepStats* worst = review.steps.empty() ? nullptr : &review.steps[review.totals.worst];
  out.line("<section id=\"totals\" aria-labelledby=\"totals-title\"><h2 id=\"totals-title\">Totals</h2>");
  if (worst == nullptr) out.line("<p>No steps could be told: {}</p>", sentence_text(review.cut.why));
  out.line(
      "<table><caption>Of all steps, and of the one that took longest on the host{}</caption><thead><tr><th "
      "scope=\"col\">What</th><th scope=\"col\">All steps</th><th scope=\"col\">Worst step</th></tr></thead><tbody>",
      worst != nullptr ? ": " + step_text(review, review.totals.worst) : "");
  out.line("<tr><th scope=\"row\">Steps</th><td>{}</td><td>{}</td></tr>", review.steps.size(),
           worst != nullptr ? "1" : "");
  out.line("<tr><th scope=\"row\">Host time</th><td>{}</td><td>{}</td></tr>", duration_text(review.totals.host_ns),
           worst != nullptr ? duration_text(host_ns(*worst)) : "");
  for (const Measure& measure : kMeasures)
    out.line("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>", measure.title,
             sum_text(review.totals, measure), worst != nullptr ? measure.value(*worst) : "");
  out.line("</tbody></table>");
  write_copies(out, review, worst);
  out.line("</section>");
  return out.str();
}

std::string html_step_table(const Review& review, const PagePlan& plan) {
  Lines out;
  if (review.steps.empty()) return {};
  std::vector<std::size_t> order(review.steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown = std::min(order.size(), kMostRows);
  const std::vector<std::size_t> first(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown));
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return host_ns(review.steps[a]) > host_ns(review.steps[b]); });
  out.line(
      "<section id=\"step-table\" aria-labelledby=\"step-table-title\"><h2 id=\"step-table-title\">Numbers of "
      "steps</h2>");
  if (shown < review.steps.size())
    out.line("<p>{} of {} are shown in each table; <code>--table</code> writes them all.</p>", shown,
             plural(review.steps.size(), "step"));
  write_steps(out, review, plan, first, "The first steps");
  order.resize(shown);
  write_steps(out, review, plan, order, "The steps that took longest on the host");
  out.line("</section>");
  return out.str();
}

std::string html_evidence(const Review& review) {
  Lines out;
  const Timeline& timeline = review.timeline();
  out.line(
      "<section id=\"evidence\" aria-labelledby=\"evidence-title\"><h2 id=\"evidence-title\">Limits of the "
      "evidence</h2>");
  if (!timeline.complete)
    out.line(
        "<p><strong>The input is not complete:</strong> its writer died, or it was cut. What lacks is unknown.</p>");
  if (timeline.limits.empty() && timeline.problems.empty()) {
    out.line("<p>The input names none, and all of it could be read.</p></section>");
    return out.str();
  }
  out.line(
      "<table><caption>What was not recorded or not read, and what that means</caption><thead><tr><th "
      "scope=\"col\">What</th><th scope=\"col\">Times</th><th scope=\"col\">Meaning</th></tr></thead><tbody>");
  std::size_t rows = 0;
  const auto row = [&](const auto& item) {
    if (++rows <= kMostLimits)
      out.line("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>", name_text(item.name), item.count,
               sentence_text(item.sentence));
  };
  for (const EvidenceLimit& limit : timeline.limits) row(limit);
  for (const ReadProblem& problem : timeline.problems) row(problem);
  out.line("</tbody></table>");
  if (rows > kMostLimits) out.line("<p>{} not shown.</p>", plural(rows - kMostLimits, "more row"));
  out.line("</section>");
  return out.str();
}

}  // namespace refrain
