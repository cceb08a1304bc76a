// The page of a review: every part in a file of its own, put together here and linked by the plan.
#include <fmt/format.h>

#include <iterator>

#include "audit/reports/escape.hpp"
#include "audit/reports/groups.hpp"
#include "audit/reports/html_parts.hpp"
#include "audit/review/html_review_style.hpp"
#include "audit/review/html_strip.hpp"
#include "audit/review/html_tables.hpp"
#include "audit/review/html_timeline.hpp"
#include "audit/review/page_words.hpp"

namespace refrain {
namespace {

struct Part {
  const char* id;
  const char* title;
};
constexpr Part kParts[] = {
    {"totals", "Totals"},
    {"steps", "Steps"},
    {"timelines", "Timelines"},
    {"findings", "Findings"},
    {"step-table", "Numbers of steps"},
    {"evidence", "Limits of the evidence"},
    {"not-checked", "Not checked"},
};

std::string header(const Review& review) {
  std::string out = fmt::format("<header><h1>Refrain review</h1>\n<p><code>{}</code>: {}; {}</p>\n",
                                sentence_text(review.recording().name), plural(review.steps.size(), "step"),
                                xml(summary(review.report)));
  if (is_guessed(review.cut.basis))
    out += fmt::format("<p><strong>The steps are guessed:</strong> {}</p>\n", sentence_text(review.cut.why));
  return out + "</header>\n";
}

std::string contents(const Review& review) {
  std::string out = "<nav aria-label=\"Contents\"><ul>";
  for (const Part& part : kParts)
    if (!review.steps.empty() ||
        (part.id != std::string_view("timelines") && part.id != std::string_view("step-table")))
      out += fmt::format("<li><a href=\"#{}\">{}</a></li>", part.id, part.title);
  return out + "</ul></nav>\n";
}

std::string timelines(const Review& review, const PagePlan& plan) {
  if (plan.timelines.empty()) return {};
  std::string out =
      "<section id=\"timelines\" aria-labelledby=\"timelines-title\"><h2 id=\"timelines-title\">Timelines</h2>\n"
      "<p>Numbered marks are findings. A frame is a graph replay with its nodes inside; a thick outline is a call that "
      "waits for the device; a dashed one is a copy or a fill; a dotted one is work that another step or thread handed "
      "out. A scrolled drawing moves with the arrow keys.</p>\n";
  for (const std::size_t step : plan.timelines) out += html_timeline(review, plan, step);
  return out + "</section>\n";
}

/// Where a finding is drawn: `At step 3 (decode), 4.1 ms into the trace: in its timeline, in the strip.`
std::string places(const Review& review, const PagePlan& plan, const PageFinding& finding) {
  if (!finding.place.at_ns) return {};
  const std::string at = duration_text(*finding.place.at_ns);
  if (!finding.place.step) return fmt::format("<p>Seen {} into the trace, in no step.</p>\n", at);
  const std::size_t step = *finding.place.step;
  return fmt::format(
      "<p>Seen in {}, {} into the trace: {}<a href=\"#{}\">in the strip</a></p>\n", step_text(review, step), at,
      plan.draws(step) ? fmt::format("<a href=\"#{}\">in its timeline</a>, ", mark_id(finding.number)) : "",
      bar_id(plan.bar_of(step)));
}

std::string findings(const Review& review, const PagePlan& plan) {
  std::string out =
      "<section id=\"findings\" aria-labelledby=\"findings-title\"><h2 id=\"findings-title\">Findings</h2>\n";
  if (review.report.count(Standing::open) == 0) out += fmt::format("<p>{}</p>\n", xml(summary(review.report)));
  std::string_view group;
  for (const PageFinding& finding : plan.findings) {
    const std::string_view title =
        finding.finding->standing == Standing::open ? group_title(finding.finding->rule) : "does not count";
    if (title != group) out += fmt::format("<h3>{}</h3>\n", xml(title));
    group = title;
    out += html_finding(*finding.finding, finding.number, places(review, plan, finding));
  }
  if (plan.findings_left_out > 0)
    out += fmt::format("<p>{} not shown; <code>--format json</code> and <code>--table</code> hold them all.</p>\n",
                       plural(plan.findings_left_out, "more finding"));
  return out + "</section>\n";
}

}  // namespace

std::string review_html(const Review& review) {
  const PagePlan plan = plan_page(review);
  std::string out = html_head(fmt::format("Refrain review: {}", review.recording().name), html_review_style());
  out += header(review) + contents(review) + "<main>\n" + html_totals(review) + html_strip(review, plan);
  out += timelines(review, plan) + findings(review, plan) + html_step_table(review, plan) + html_evidence(review);
  return out + html_not_checked(review.report) + "</main>\n</body>\n</html>\n";
}

}  // namespace refrain
