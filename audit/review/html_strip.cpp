#include "audit/review/html_strip.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/reports/groups.hpp"
#include "audit/reports/lines.hpp"
#include "audit/review/page_words.hpp"

namespace refrain {
namespace {

constexpr double kWidth = 1070, kHeight = 150, kTop = 24, kLeft = 90, kBottom = 24;
/// Bars end at so many medians, or one slow first step would flatten all others.
constexpr std::uint64_t kHighestInMedians = 4;

struct Bar {
  std::size_t first = 0, last = 0;  // steps
  std::size_t longest = 0;          // the step that is drawn for all of them
  std::vector<std::size_t> findings;
};

class Strip : Lines {
 public:
  Strip(const Review& review, const PagePlan& plan) : review_(review), plan_(plan) {
    const auto& steps = review.steps;
    for (std::size_t first = 0; first < steps.size(); first += plan.steps_a_bar) {
      Bar bar{first, std::min(first + plan.steps_a_bar, steps.size()) - 1, first, {}};
      for (std::size_t step = first; step <= bar.last; ++step)
        if (host_ns(steps[step]) > host_ns(steps[bar.longest])) bar.longest = step;
      bars_.push_back(std::move(bar));
    }
    for (const PageFinding& finding : plan.findings)
      if (finding.place.step) bars_[plan.bar_of(*finding.place.step)].findings.push_back(finding.number);
    set_scale();
  }

  std::string run() {
    line("<section id=\"steps\" aria-labelledby=\"steps-title\"><h2 id=\"steps-title\">Steps</h2>");
    line("<p>{}: {}</p>", plural(review_.steps.size(), "step"), sentence_text(review_.cut.why));
    if (bars_.empty()) {
      line("</section>");
      return str();
    }
    write_legend();
    line("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Strip of steps\">");
    write_svg();
    line("</div>");
    write_table();
    line("</section>");
    return str();
  }

 private:
  void set_scale() {
    std::vector<std::uint64_t> heights;
    for (const Bar& bar : bars_) heights.push_back(host_ns(review_.steps[bar.longest]));
    if (heights.empty()) return;
    const auto middle = heights.begin() + static_cast<std::ptrdiff_t>(heights.size() / 2);
    std::nth_element(heights.begin(), middle, heights.end());
    const std::uint64_t median = *middle, longest = *std::max_element(heights.begin(), heights.end());
    scale_ns_ = std::max<std::uint64_t>(1, median == 0 ? longest : std::min(longest, kHighestInMedians * median));
    cut_ = longest > scale_ns_;
  }

  void write_legend() {
    line(
        "<p>{} A bar is as high as the step took on the host, its dark part as the device was busy with it{}. A wedge "
        "above a bar stands for findings and leads to the first of them; a bar with a double foot leads to its "
        "timeline below.{}</p>",
        plan_.steps_a_bar == 1
            ? "A bar a step."
            : fmt::format("A bar stands for {} steps, and is drawn as the longest of them.", plan_.steps_a_bar),
        any_busy() ? "" : " (not recorded here)",
        cut_ ? fmt::format(" Bars longer than {} are cut there and open at the top.", duration_text(scale_ns_)) : "");
  }

  [[nodiscard]] bool any_busy() const {
    return std::any_of(bars_.begin(), bars_.end(),
                       [&](const Bar& bar) { return review_.steps[bar.longest].gpu_busy_ns.has_value(); });
  }

  [[nodiscard]] double height(std::uint64_t ns) const {
    return kHeight * static_cast<double>(std::min(ns, scale_ns_)) / static_cast<double>(scale_ns_);
  }
  [[nodiscard]] double every() const { return kWidth / static_cast<double>(bars_.size()); }

  void write_svg() {
    const double all = kTop + kHeight + kBottom;
    line(
        "<svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"group\" "
        "aria-labelledby=\"steps-title\" aria-describedby=\"steps-table\">",
        kLeft + kWidth + 10, all);
    line("<g aria-hidden=\"true\"><rect class=\"plate\" x=\"0\" y=\"0\" width=\"{:.0f}\" height=\"{:.0f}\"/>", kLeft,
         all);
    line("<text x=\"4\" y=\"{:.0f}\">{}</text><text x=\"4\" y=\"{:.0f}\">0</text></g>", kTop + 10,
         duration_text(scale_ns_), kTop + kHeight);
    line("<path class=\"edge\" aria-hidden=\"true\" d=\"M{:.0f} {:.1f} H{:.0f}\"/>", kLeft, kTop + kHeight + .5,
         kLeft + kWidth);
    for (std::size_t i = 0; i < bars_.size(); ++i) write(bars_[i], i);
    line("</svg>");
  }

  [[nodiscard]] std::string steps_of(const Bar& bar) const {
    if (bar.first == bar.last) return step_text(review_, bar.first);
    return fmt::format("steps {} to {}, the longest {}", bar.first + 1, bar.last + 1, step_text(review_, bar.longest));
  }

  [[nodiscard]] std::optional<std::size_t> timeline_of(const Bar& bar) const {
    for (const std::size_t step : plan_.timelines)
      if (step >= bar.first && step <= bar.last) return step;
    return {};
  }

  void write(const Bar& bar, std::size_t number) {
    const StepStats& step = review_.steps[bar.longest];
    const double width = std::max(1.0, std::min(40.0, every() - 1)), x = kLeft + every() * static_cast<double>(number);
    const double high = height(host_ns(step)), busy = std::min(high, height(step.gpu_busy_ns.value_or(0)));
    const double foot = kTop + kHeight;
    const auto timeline = timeline_of(bar);
    const std::string says = fmt::format("{}: {}", steps_of(bar), duration_text(host_ns(step)));
    if (timeline)
      line("<a id=\"{}\" class=\"bar\" href=\"#{}\" aria-label=\"{}, drawn below\"><title>{}</title>", bar_id(number),
           timeline_id(*timeline), says, says);
    else
      line("<g id=\"{}\" class=\"bar\"><title>{}</title>", bar_id(number), says);
    line("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"{}/>", x, foot - high, width, high,
         host_ns(step) > scale_ns_ ? " class=\"cut\"" : "");
    if (busy > 0)
      line("<rect class=\"busy\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>", x, foot - busy, width,
           busy);
    if (timeline)
      line("<path class=\"foot\" d=\"M{0:.1f} {1:.1f} h{2:.1f} M{0:.1f} {3:.1f} h{2:.1f}\"/>", x, foot + 4, width,
           foot + 8);
    line("{}", timeline ? "</a>" : "</g>");
    if (!bar.findings.empty()) write_wedge(bar, x + width / 2, foot - high);
  }

  void write_wedge(const Bar& bar, double x, double top) {
    line(
        "<a class=\"wedge\" href=\"#finding-{}\" aria-label=\"{}: {}\"><title>{}</title><path d=\"M{:.1f} {:.1f} l-6 "
        "-12 h12 "
        "z\"/></a>",
        bar.findings.front(), steps_of(bar), plural(bar.findings.size(), "finding"),
        plural(bar.findings.size(), "finding"), x, top - 2);
  }

  void write_table() {
    line("<details id=\"steps-table\"><summary>The strip as a table: {}</summary>", plural(bars_.size(), "bar"));
    line(
        "<table><caption>Bars from left to right</caption><thead><tr><th scope=\"col\">Steps</th><th "
        "scope=\"col\">Host "
        "time</th><th scope=\"col\">GPU busy</th><th scope=\"col\">Findings</th></tr></thead><tbody>");
    for (const Bar& bar : bars_) {
      const StepStats& step = review_.steps[bar.longest];
      line("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>", steps_of(bar),
           duration_text(host_ns(step)), duration_text(step.gpu_busy_ns), links(bar));
    }
    line("</tbody></table></details>");
  }

  static std::string links(const Bar& bar) {
    std::string list;
    for (const std::size_t number : bar.findings)
      list += fmt::format("{}<a href=\"#finding-{}\">finding {}</a>", list.empty() ? "" : ", ", number, number);
    return list.empty() ? "none" : list;
  }

  const Review& review_;
  const PagePlan& plan_;
  std::vector<Bar> bars_;
  std::uint64_t scale_ns_ = 1;
  bool cut_ = false;
};

}  // namespace

std::string html_strip(const Review& review, const PagePlan& plan) {
  return Strip(review, plan).run();
}

}  // namespace refrain
