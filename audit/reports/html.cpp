// The audit's page: links and `:target` do what is to be done.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "audit/reports/escape.hpp"
#include "audit/reports/formats.hpp"
#include "audit/reports/groups.hpp"
#include "audit/reports/html_graph.hpp"
#include "audit/reports/html_parts.hpp"
#include "audit/reports/lines.hpp"
#include "audit/reports/places.hpp"

namespace refrain {
namespace {

/// Graphs drawn on one page; the table of contracts names them all.
constexpr std::size_t kMostGraphs = 12;

class HtmlReport : Lines {
 public:
  explicit HtmlReport(const ReportSource& source) : report_(source.report), places_(source.subjects) {
    for (std::size_t i = 0; i < report_.findings().size(); ++i) number_.emplace(&report_.findings()[i], i + 1);
    choose_graphs();
    for (const HtmlGraph& graph : graphs_) drawings_.push_back(draw(graph));
  }

  std::string write() {
    write_head();
    line("<main>\n<section id=\"findings\" aria-labelledby=\"findings-title\"><h2 id=\"findings-title\">Findings</h2>");
    if (report_.count(Standing::open) == 0) line("<p>{}</p>", xml(summary(report_)));
    for (const FindingGroup& group : open_findings(report_)) {
      line("<h3>{}</h3>", xml(group.title));
      for (const Finding* finding : group.findings) write(*finding);
    }
    write_excused();
    line("</section>\n<section id=\"graphs\" aria-labelledby=\"graphs-title\"><h2 id=\"graphs-title\">Graphs</h2>");
    if (drawings_.empty()) line("<p>The input holds no graph.</p>");
    for (const HtmlDrawing& drawing : drawings_) line("{}", drawing.html);
    if (!left_out_.empty()) line("<p>{} with findings not drawn.</p>", plural(left_out_.size(), "more graph"));
    line("</section>");
    write_coverage();
    line("{}", html_not_checked(report_));
    line("</main>\n</body>\n</html>");
    return str();
  }

 private:
  // Those with findings, those that count first; the first of all where there is none.
  void choose_graphs() {
    std::unordered_map<const GraphView*, std::size_t> place;
    const auto add = [&](const GraphView* view) {
      if (view == nullptr) return;
      if (!place.contains(view) && graphs_.size() == kMostGraphs) {
        left_out_.insert(view);
        return;
      }
      const auto [at, first] = place.emplace(view, graphs_.size());
      if (first) graphs_.push_back({view, graphs_.size(), {}});
    };
    for (const FindingGroup& group : open_findings(report_))
      for (const Finding* finding : group.findings) add(places_.graph(*finding));
    for (const Finding* finding : excused_findings(report_)) add(places_.graph(*finding));
    for (const SubjectView& view : places_.views())
      if (graphs_.empty() && !view.graphs().empty()) add(&view.graphs().front());
    for (const Finding& finding : report_.findings())
      if (const auto at = place.find(places_.graph(finding)); at != place.end())
        for (const NodeId node : finding.nodes)
          if (node < at->first->graph().nodes.size())
            graphs_[at->second].marks.push_back({node, number_.at(&finding), finding.rule});
  }

  void write_head() {
    line("{}", html_head("Refrain audit: " + summary(report_)));
    line("<header><h1>Refrain audit</h1>\n<p>{}; {} of {} without a contract</p>", xml(summary(report_)),
         report_.unknown_nodes, plural(report_.nodes, "node"));
    for (const std::string& remark : report_.remarks) line("<p><strong>Remark:</strong> {}</p>", xml(remark));
    line("<details><summary>{}</summary><ul>", plural(report_.inputs.size(), "input"));
    for (const std::string& input : report_.inputs) line("<li><code>{}</code></li>", xml(input));
    line("</ul></details></header>");
    line(
        "<nav aria-label=\"Contents\"><ul><li><a href=\"#findings\">Findings</a></li><li><a "
        "href=\"#graphs\">Graphs</a></li><li><a href=\"#coverage\">Contract coverage</a></li><li><a "
        "href=\"#not-checked\">Not checked</a></li></ul></nav>");
  }

  void write(const Finding& finding) { line("{}", html_finding(finding, number_.at(&finding), nodes_of(finding))); }

  [[nodiscard]] std::string nodes_of(const Finding& finding) const {
    const GraphView* view = places_.graph(finding);
    if (view == nullptr || finding.nodes.empty()) return {};
    std::string list;
    for (const NodeId node : std::span(finding.nodes).first(std::min(finding.nodes.size(), kMostListed))) {
      if (node >= view->graph().nodes.size()) continue;
      if (!list.empty()) list += ", ";
      const std::string name = xml(describe(view->graph(), node));
      const std::string id = drawn_id(view, node);
      list += id.empty() ? name + " (not drawn)" : fmt::format("<a href=\"#{}\">{}</a>", id, name);
    }
    if (finding.nodes.size() > kMostListed) list += fmt::format(" and {} more", finding.nodes.size() - kMostListed);
    return fmt::format("<p>Nodes in graph {}: {}</p>\n", xml(view->path()), list);
  }

  [[nodiscard]] std::string drawn_id(const GraphView* view, NodeId node) const {
    for (const HtmlGraph& graph : graphs_)
      if (graph.view == view) {
        const std::vector<NodeId>& nodes = drawings_[graph.number].nodes;
        return std::binary_search(nodes.begin(), nodes.end(), node) ? node_id(graph.number, node) : "";
      }
    return "";
  }

  void write_excused() {
    const auto excused = excused_findings(report_);
    if (excused.empty()) return;
    line("<h3>does not count</h3>");
    for (const Finding* finding : excused) write(*finding);
  }

  void write_coverage() {
    line(
        "<section id=\"coverage\" aria-labelledby=\"coverage-title\"><h2 id=\"coverage-title\">Contract coverage</h2>");
    line("<p>Of a node without a contract it is not known what it reads, writes and establishes.</p>");
    line(
        "<table><caption>Nodes by graph</caption><thead><tr><th scope=\"col\">Graph</th><th scope=\"col\">Input</th>"
        "<th scope=\"col\">Nodes</th><th scope=\"col\">With a contract</th><th scope=\"col\">Without</th></tr></thead>"
        "<tbody>");
    for (const SubjectView& subject : places_.views())
      for (const GraphView& view : subject.graphs()) {
        const auto& nodes = view.graph().nodes;
        const auto with = std::count_if(nodes.begin(), nodes.end(), [](const Node& n) { return n.has_contract; });
        const auto without = std::count_if(nodes.begin(), nodes.end(), is_unknown);
        line("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", xml(view.path()),
             xml(view.recording().name), nodes.size(), with, without);
      }
    line("</tbody></table></section>");
  }

  const Report& report_;
  Places places_;
  std::unordered_map<const Finding*, std::size_t> number_;
  std::vector<HtmlGraph> graphs_;
  std::unordered_set<const GraphView*> left_out_;
  std::vector<HtmlDrawing> drawings_;
};

}  // namespace

std::string report_html(const ReportSource& source) {
  return HtmlReport(source).write();
}

}  // namespace refrain
