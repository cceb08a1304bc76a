#include "audit/review/html_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/reports/groups.hpp"
#include "audit/reports/html_parts.hpp"
#include "audit/reports/lines.hpp"
#include "audit/review/page_words.hpp"
#include "audit/review/step_lanes.hpp"

namespace refrain {
namespace {

constexpr double kLeft = 190, kWidth = 960, kAxis = 26, kMarks = 28, kLane = 24, kReplayLane = 44, kGap = 4;
constexpr double kCharacter = 7.4;  // of the monospaced 12 px
constexpr std::size_t kMostTicks = 10;

std::string what(const Block& block) {
  const std::string name = name_text(block.name);
  if (block.kind == BlockKind::replay && block.nodes > 0)
    return fmt::format("{}, {}", block.count == 1 ? "replay" : plural(block.count, "replay"),
                       plural(block.nodes, "node"));
  if (block.kind == BlockKind::replay)
    return fmt::format("{}, nodes not recorded", block.count == 1 ? "replay" : plural(block.count, "replay"));
  return block.count == 1 ? name : fmt::format("{} together, the longest {}", block.count, name);
}

std::string label(const Block& block, double width) {
  const auto room = static_cast<std::size_t>(std::max(0.0, (width - 6) / kCharacter));
  if (room < 6) return {};
  if (block.kind == BlockKind::replay) {
    const std::string text = what(block);
    return text.size() <= room ? text : "";
  }
  return name_text(block.name.substr(0, room));
}

class TimelineSection : Lines {
 public:
  TimelineSection(const Review& review, const PagePlan& plan, std::size_t step)
      : review_(review), plan_(plan), step_(step), lanes_(lanes_of(review, step)) {}

  std::string run() {
    const std::string id = timeline_id(step_);
    line("<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h3 id=\"{0}-title\">{1}: {2}</h3>", id,
         step_ == plan_.timelines.front() ? "Worst step" : "Step with findings", step_text(review_, step_));
    write_words();
    line("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Timeline of {}\">",
         step_text(review_, step_));
    write_svg(id);
    line("</div>");
    write_table(id);
    line("</section>");
    return str();
  }

 private:
  void write_words() {
    const StepStats& s = review_.steps[step_];
    line("<p>{} on the host, {} into the trace; GPU busy {}, idle {}. <a href=\"#{}\">In the strip</a>.</p>",
         duration_text(host_ns(s)), duration_text(s.start_ns), duration_text(s.gpu_busy_ns),
         duration_text(s.gpu_idle_ns), bar_id(plan_.bar_of(step_)));
    std::string also;
    if (lanes_.lanes_left_out > 0)
      also += fmt::format(" Not drawn: {} with {}.", plural(lanes_.lanes_left_out, "more stream"),
                          plural(lanes_.work_left_out, "piece") + " of work");
    if (lanes_.ranges_left_out > 0)
      also += fmt::format(" Not drawn: {}, nested too deep.", plural(lanes_.ranges_left_out, "range"));
    line("<p class=\"soft\">What is shorter and closer than {} may stand together as one.{}</p>",
         duration_text(lanes_.together_ns), also);
  }

  [[nodiscard]] double x(std::uint64_t ns) const {
    const std::uint64_t at = std::clamp(ns, lanes_.start_ns, lanes_.end_ns) - lanes_.start_ns;
    return kLeft + kWidth * static_cast<double>(at) / static_cast<double>(lanes_.end_ns - lanes_.start_ns);
  }
  static double height(const Lane& lane) { return lane.replays.empty() ? kLane : kReplayLane; }

  void write_svg(const std::string& id) {
    double all = kAxis + kMarks;
    for (const Lane& lane : lanes_.lanes) all += height(lane) + kGap;
    line(
        "<svg width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" role=\"group\" "
        "aria-labelledby=\"{2}-title\" aria-describedby=\"{2}-table\">",
        kLeft + kWidth + 20, all, id);
    // Hundreds of blocks are nothing to walk through with a reader: the table holds them all.
    line("<g aria-hidden=\"true\">");
    write_axis(all);
    double top = kAxis + kMarks;
    for (const Lane& lane : lanes_.lanes) {
      write(lane, top);
      top += height(lane) + kGap;
    }
    line("</g>");
    write_marks(all);
    line("</svg>");
  }

  void write_axis(double bottom) {
    const std::uint64_t window = lanes_.end_ns - lanes_.start_ns;
    std::uint64_t every = 1;
    for (std::size_t i = 0; window / every > kMostTicks; ++i) every = i % 3 == 1 ? every / 2 * 5 : every * 2;
    line("<g><rect class=\"plate\" x=\"0\" y=\"0\" width=\"{:.0f}\" height=\"{:.0f}\"/>", kLeft + kWidth + 20, kAxis);
    for (std::uint64_t at = 0; at <= window; at += every) {
      const double left = x(lanes_.start_ns + at);
      line("<path class=\"tick\" d=\"M{0:.1f} {1:.0f} V{2:.0f}\"/>", left, kAxis - 8, bottom);
      const std::string text = duration_text(at);
      if (left + kCharacter * static_cast<double>(text.size()) < kLeft + kWidth + 20)
        line("<text x=\"{:.1f}\" y=\"14\">{}</text>", left, text);
    }
    line("</g>");
  }

  void write(const Lane& lane, double top) {
    line(
        "<g><rect class=\"plate\" x=\"0\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\"/><text x=\"4\" "
        "y=\"{:.0f}\">{}</text></g>",
        top, kLeft - 6, height(lane), top + 16, lane.title);
    for (const Block& block : lane.replays) write(block, top, kReplayLane);
    const double inset = lane.replays.empty() ? 0 : kReplayLane - kLane - 2;
    for (const Block& block : lane.blocks) write(block, top + inset, lane.replays.empty() ? kLane : kLane - 2);
  }

  void write(const Block& block, double top, double high) {
    const double left = x(block.start_ns), width = std::max(1.0, x(block.end_ns) - left);
    const std::string text = label(block, width);
    line(
        "<g class=\"block {}\"><title>{}: {}</title><rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" "
        "height=\"{:.0f}\"/>{}</g>",
        to_string(block.kind), what(block), taken(block), left, top, width, high,
        text.empty() ? "" : fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", left + 3, top + 15, text));
  }

  static std::string taken(const Block& block) {
    return duration_text(block.end_ns > block.start_ns ? block.end_ns - block.start_ns : 0);
  }

  // A mark stands beside the one before where there is no room; its line stands at its time.
  void write_marks(double bottom) {
    std::vector<const PageFinding*> here;
    for (const PageFinding& finding : plan_.findings)
      if (finding.place.step == step_) here.push_back(&finding);
    std::stable_sort(here.begin(), here.end(),
                     [](const PageFinding* a, const PageFinding* b) { return a->place.at_ns < b->place.at_ns; });
    double free = 0;
    for (const PageFinding* finding : here) {
      const double at = x(finding->place.at_ns.value_or(lanes_.start_ns)), left = std::max(free, at - 9);
      const double width = 8 + kCharacter * static_cast<double>(fmt::to_string(finding->number).size());
      line(
          "<a id=\"{}\" class=\"mark\" href=\"#finding-{}\" aria-label=\"finding {}, {} {}, {} after the step's "
          "begin\"><title>{} {}</title><path d=\"M{:.1f} {:.0f} L{:.1f} {:.0f} V{:.0f}\"/>",
          mark_id(finding->number), finding->number, finding->number, finding->finding->rule, finding->finding->name,
          after_begin(*finding), finding->finding->rule, finding->finding->name, left + width / 2, kAxis + 18, at,
          kAxis + kMarks - 2, bottom);
      line(
          "<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"18\" rx=\"9\"/><text x=\"{:.1f}\" "
          "y=\"{:.0f}\">{}</text></a>",
          left, kAxis, width, left + 4, kAxis + 13, finding->number);
      free = left + width + 2;
    }
  }

  [[nodiscard]] std::string after_begin(const PageFinding& finding) const {
    const std::uint64_t at = std::max(finding.place.at_ns.value_or(0), lanes_.start_ns);
    return duration_text(at - lanes_.start_ns);
  }

  void write_table(const std::string& id) {
    std::size_t rows = 0;
    for (const Lane& lane : lanes_.lanes) rows += lane.blocks.size() + lane.replays.size();
    line("<details id=\"{}-table\"><summary>The timeline as a table: {}</summary>", id, plural(rows, "block"));
    line(
        "<table><caption>Blocks by lane, in time; begins are after the step's own</caption><thead><tr><th "
        "scope=\"col\">Lane</th><th scope=\"col\">Kind</th><th scope=\"col\">What</th><th scope=\"col\">Begins</th><th "
        "scope=\"col\">Takes</th></tr></thead><tbody>");
    for (const Lane& lane : lanes_.lanes)
      for (const std::vector<Block>* blocks : {&lane.replays, &lane.blocks})
        for (const Block& block : *blocks)
          line("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", lane.title,
               to_string(block.kind), what(block), begins(block), taken(block));
    line("</tbody></table></details>");
  }

  [[nodiscard]] std::string begins(const Block& block) const {
    return block.start_ns < lanes_.start_ns ? "before it" : duration_text(block.start_ns - lanes_.start_ns);
  }

  const Review& review_;
  const PagePlan& plan_;
  std::size_t step_;
  StepLanes lanes_;
};

}  // namespace

std::string html_timeline(const Review& review, const PagePlan& plan, std::size_t step) {
  return TimelineSection(review, plan, step).run();
}

}  // namespace refrain
