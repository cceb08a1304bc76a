// One graph of the HTML report: its drawing as SVG, and the same as a table for
// those who read instead of look. Nodes of findings are marked and lead to them;
// `node_id` is where a finding's links lead.
#pragma once

#include <string>
#include <vector>

#include "audit/subject.hpp"

namespace refrain {

/// A finding that stands on a node: its number on the page and its rule.
struct NodeMark {
  NodeId node = 0;
  std::size_t finding = 0;
  std::string rule;
};

struct HtmlGraph {
  const GraphView* view = nullptr;
  std::size_t number = 0;       ///< on the page
  std::vector<NodeMark> marks;  ///< in the order of the findings
};

/// Of a node that is drawn: `node-0-17`.
[[nodiscard]] std::string node_id(std::size_t graph, NodeId node);

struct HtmlDrawing {
  std::string html;           ///< a <section>
  std::vector<NodeId> nodes;  ///< that are drawn, ascending
};
[[nodiscard]] HtmlDrawing draw(const HtmlGraph& graph);

}  // namespace refrain
