// RF607: a conditional node one of whose bodies holds no node. Before CUDA 12.8
// such a graph hangs when it is launched. A newer driver skips it, and then it is
// worth a note: the work of the body may have been captured elsewhere.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

constexpr unsigned kFixedBranch = 570;                 // the driver branch of CUDA 12.8
constexpr unsigned kFixedMajor = 12, kFixedMinor = 8;  // where the driver is named by its CUDA version

enum class Driver : std::uint8_t { unknown, hangs, skips };

/// `550.54.15`, `CUDA 12.4`, `12.4`; the host driver calls itself `host` and runs an empty body as nothing.
Driver judge_driver(std::string_view name) {
  if (name == "host") return Driver::skips;
  const auto digit = name.find_first_of("0123456789");
  if (digit == std::string_view::npos) return Driver::unknown;
  unsigned major = 0, minor = 0;
  const char* end = name.data() + name.size();
  const auto first = std::from_chars(name.data() + digit, end, major);
  if (first.ptr != end && *first.ptr == '.') std::from_chars(first.ptr + 1, end, minor);
  if (major >= 100) return major < kFixedBranch ? Driver::hangs : Driver::skips;
  return std::pair(major, minor) < std::pair(kFixedMajor, kFixedMinor) ? Driver::hangs : Driver::skips;
}

bool has_empty_body(const Node& node) {
  return node.kind == NodeKind::conditional &&
         std::any_of(node.bodies.begin(), node.bodies.end(), [](const Graph& body) { return body.nodes.empty(); });
}

void report_nodes(const GraphView& view, const std::vector<NodeId>& nodes, const std::string& name, Report& report) {
  const Driver driver = judge_driver(name);
  Finding finding = new_finding("RF607", view, Certainty::proven);
  if (driver != Driver::hangs) finding.severity = driver == Driver::skips ? Severity::note : Severity::warning;
  finding.count = nodes.size();
  finding.nodes = nodes;
  finding.where = place(view, nodes);
  const char* effect = driver == Driver::hangs   ? "this driver is older than CUDA 12.8, and the launch hangs"
                       : driver == Driver::skips ? "this driver skips it, one before CUDA 12.8 hangs"
                                                 : "a driver before CUDA 12.8 hangs at the launch";
  finding.message = fmt::format("{} {} a body without a node: {}", list_nodes(view.graph(), nodes),
                                nodes.size() == 1 ? "has" : "have", effect);
  finding.evidence.push_back(name.empty() ? "the input does not name the driver" : fmt::format("driver {}", name));
  finding.fix = "capture an empty node or the missing work into the body, or leave the conditional out";
  report.add(std::move(finding), std::vector<std::string>{"conditional"});
}

}  // namespace

void check_rf607(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF607")) return;
  std::string driver;  // of the graph that a body belongs to
  for (const GraphView& graph_view : view.graphs()) {
    const Graph& graph = graph_view.graph();
    if (!graph_view.parent()) driver = graph.capture.driver;
    std::vector<NodeId> nodes;
    for (const NodeId node : nodes_of_kind(graph, NodeKind::conditional))
      if (has_empty_body(graph.nodes[node])) nodes.push_back(node);
    if (!nodes.empty()) report_nodes(graph_view, nodes, driver, report);
  }
}

}  // namespace refrain
