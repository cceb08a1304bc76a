#include "audit/reports/html_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/reports/drawing.hpp"
#include "audit/reports/escape.hpp"
#include "audit/reports/groups.hpp"
#include "audit/reports/html_parts.hpp"
#include "audit/reports/lines.hpp"

namespace refrain {
namespace {

constexpr double kWidth = 176, kHeight = 42, kAcross = 200, kDown = 88, kMargin = 24;
/// How far to the side an edge that skips layers is drawn.
constexpr double kBow = kWidth * 0.75;

class GraphSection : Lines {
 public:
  explicit GraphSection(const HtmlGraph& graph) : graph_(graph), topology_(graph.view->graph(), 0) {
    std::vector<NodeId> focus;
    for (const NodeMark& mark : graph.marks) {
      marks_[mark.node].push_back(&mark);
      focus.push_back(mark.node);
    }
    drawing_ = lay_out(graph.view->graph(), topology_, choose_nodes(topology_, focus));
  }

  HtmlDrawing run() {
    const std::string title = xml(graph_.view->path());
    line("<section aria-labelledby=\"graph-{}\">\n<h3 id=\"graph-{}\">Graph {}</h3>", graph_.number, graph_.number,
         title);
    line(
        "<p>{}, {} of them drawn in {}, each below all that it waits for.{} A dashed line is a programmatic edge, or "
        "leads to nodes that are not drawn.</p>",
        plural(topology_.order().size(), "node"), drawing_.nodes.size(), plural(drawing_.layers, "layer"),
        drawing_.hidden > 0 ? " The nodes nearest to the findings are drawn." : "");
    line("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Drawing of graph {}\">", title);
    write_svg();
    line("</div>");
    write_table();
    line("</section>");
    HtmlDrawing out{str(), {}};
    for (const DrawnNode& node : drawing_.nodes) out.nodes.push_back(node.node);
    std::sort(out.nodes.begin(), out.nodes.end());
    return out;
  }

 private:
  [[nodiscard]] static double x(const DrawnNode& node) { return kMargin + node.column * kAcross; }
  [[nodiscard]] static double top(const DrawnNode& node) { return kMargin + node.layer * kDown; }
  [[nodiscard]] static double bottom(const DrawnNode& node) { return top(node) + kHeight; }

  [[nodiscard]] const Node& node(NodeId id) const { return graph_.view->graph().nodes[id]; }
  [[nodiscard]] std::string label(NodeId id) const {
    const Node& n = node(id);
    const std::string& name = !n.op.empty() ? n.op : n.name;
    return visible(name.empty() ? to_string(n.kind) : name);
  }

  [[nodiscard]] std::string rules(NodeId id) const {
    const auto at = marks_.find(id);
    std::string list;
    if (at == marks_.end()) return list;
    for (const NodeMark* mark : at->second) {
      if (list.find(mark->rule) != std::string::npos) continue;
      if (!list.empty()) list += ", ";
      list += mark->rule;
    }
    return list;
  }

  void write_svg() {
    const double width = 2 * kMargin + drawing_.columns * kAcross + kBow;  // a long edge may leave the last column
    const double height = 2 * kMargin + drawing_.layers * kDown;
    line(
        "<svg width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"group\" "
        "aria-labelledby=\"graph-{}\" aria-describedby=\"nodes-{}\">",
        width, height, width, height, graph_.number, graph_.number);
    line("<g aria-hidden=\"true\">");
    for (const DrawnEdge& edge : drawing_.edges) write(edge);
    for (const DrawnNode& node : drawing_.nodes) write_stubs(node);
    line("</g>");
    for (const DrawnNode& node : drawing_.nodes) write(node);
    line("</svg>");
  }

  // An edge that skips layers leaves the straight way, so that it does not run behind the nodes between.
  void write(const DrawnEdge& edge) {
    const DrawnNode &from = drawing_.nodes[edge.from], &to = drawing_.nodes[edge.to];
    const double out = to.layer - from.layer > 1 ? kBow : 0, reach = (top(to) - bottom(from)) / 2;
    line("<path class=\"edge{}\" d=\"M{:.0f} {:.0f} C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} {:.0f}\"/>",
         edge.kind == EdgeKind::programmatic ? " programmatic" : "", x(from), bottom(from), x(from) + out,
         bottom(from) + reach, x(to) + out, top(to) - reach, x(to), top(to));
  }

  void write_stubs(const DrawnNode& node) {
    const auto stub = [&](double from, double to) {
      line("<path class=\"edge stub\" d=\"M{:.0f} {:.0f} V{:.0f}\"/>", x(node) - kWidth / 4, from, to);
    };
    if (node.hidden_above > 0) stub(top(node), top(node) - 18);
    if (node.hidden_below > 0) stub(bottom(node), bottom(node) + 18);
  }

  void write(const DrawnNode& drawn) {
    const std::string found = rules(drawn.node), name = xml(describe(graph_.view->graph(), drawn.node));
    const std::string id = node_id(graph_.number, drawn.node);
    if (found.empty())
      line("<g id=\"{}\" class=\"node\"><title>{}</title>", id, name);
    else
      line("<a id=\"{}\" class=\"node marked\" href=\"#finding-{}\" aria-label=\"{}: {}\"><title>{}: {}</title>", id,
           marks_.at(drawn.node).front()->finding, name, found, name, found);
    line("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"5\"/>", x(drawn) - kWidth / 2,
         top(drawn), kWidth, kHeight);
    line("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>", x(drawn) - kWidth / 2 + 8, top(drawn) + 17,
         xml(shortened(label(drawn.node), 21)));
    line("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>", x(drawn) - kWidth / 2 + 8, top(drawn) + 34,
         shortened(fmt::format("{} {} {}", drawn.node, to_string(node(drawn.node).kind), found), 22));
    line("{}", found.empty() ? "</g>" : "</a>");
  }

  [[nodiscard]] std::string contract(NodeId id) const {
    if (node(id).has_contract) return "yes";
    return is_unknown(node(id)) ? "none" : "touches no memory of its own";
  }

  [[nodiscard]] std::string links(NodeId id) const {
    const auto at = marks_.find(id);
    std::string list;
    if (at == marks_.end()) return list;
    for (const NodeMark* mark : at->second)
      list += fmt::format("<a href=\"#finding-{}\">{} (finding {})</a> ", mark->finding, mark->rule, mark->finding);
    return list;
  }

  void write_table() {
    line("<details id=\"nodes-{}\"><summary>The drawing as a table: {}</summary>", graph_.number,
         plural(drawing_.nodes.size(), "node"));
    line(
        "<table><caption>Nodes from the top of the drawing down</caption><thead><tr><th scope=\"col\">Node</th>"
        "<th scope=\"col\">Kind</th><th scope=\"col\">Waits for</th><th scope=\"col\">Contract</th>"
        "<th scope=\"col\">Findings</th></tr></thead><tbody>");
    for (const DrawnNode& drawn : drawing_.nodes) {
      std::string waits;
      for (const NodeId before : topology_.predecessors(drawn.node))
        waits += fmt::format("{}{}", waits.empty() ? "" : ", ", before);
      line("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
           xml(describe(graph_.view->graph(), drawn.node)), to_string(node(drawn.node).kind),
           waits.empty() ? "nothing" : waits, contract(drawn.node), links(drawn.node));
    }
    line("</tbody></table></details>");
  }

  const HtmlGraph& graph_;
  Topology topology_;
  std::map<NodeId, std::vector<const NodeMark*>> marks_;
  Drawing drawing_;
};

}  // namespace

std::string node_id(std::size_t graph, NodeId node) {
  return fmt::format("node-{}-{}", graph, node);
}

HtmlDrawing draw(const HtmlGraph& graph) {
  return GraphSection(graph).run();
}

}  // namespace refrain
