#include "audit/rules/words.hpp"

#include <fmt/format.h>

#include <cassert>

#include "audit/rules.hpp"

namespace refrain {
namespace {

constexpr std::size_t kListed = 4;  // names in a sentence before it says "and N more"

}  // namespace

std::string place(const GraphView& view) {
  return fmt::format("{} {}", view.graph().capture.phase.empty() ? "graph" : "step", view.path());
}

std::string place(const GraphView& view, const std::vector<NodeId>& nodes, const std::vector<std::string>& buffers) {
  std::string text = place(view);
  if (!nodes.empty()) text += ", " + describe(view.graph(), nodes.front());
  if (nodes.size() > 1) text += fmt::format(" and {} more", nodes.size() - 1);
  if (!buffers.empty()) text += fmt::format(", buffer{} {}", buffers.size() == 1 ? "" : "s", list_names(buffers));
  return text;
}

std::string name_of(const Graph& graph, BufferId buffer) {
  const std::string& name = graph.buffers[buffer].name;
  return name.empty() ? fmt::format("buffer {}", buffer) : name;
}

std::string name_of(const Node& node) {
  if (!node.op.empty()) return node.op;
  return node.name.empty() ? to_string(node.kind) : node.name;
}

std::string bytes_of(ByteRange range) {
  return fmt::format("bytes [{}, {})", range.begin, range.end);
}

std::string list_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kListed; ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  if (names.size() > kListed) text += fmt::format(" and {} more", names.size() - kListed);
  return text;
}

std::string list_nodes(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    names.push_back(i < kListed ? describe(graph, nodes[i]) : std::string());
  return list_names(names);
}

Finding new_finding(std::string_view rule, Certainty certainty) {
  const Rule* row = find_rule(rule);
  assert(row != nullptr && "a rule reports under an id that the table does not have");
  Finding finding;
  finding.rule = row->id;
  finding.severity = row->severity;
  finding.certainty = certainty;
  return finding;
}

Finding new_finding(std::string_view rule, const GraphView& view, Certainty certainty) {
  Finding finding = new_finding(rule, certainty);
  finding.graph = view.path();
  return finding;
}

bool has_graphs(const SubjectView& view, Report& report, std::string_view rule) {
  if (!view.graphs().empty()) return true;
  report.not_checked(rule, "the input holds no graph");
  return false;
}

bool has_timelines(const SubjectView& view, Report& report, std::string_view rule, std::string_view reason) {
  if (view.timelines().size() < view.subject().recordings.size() || view.timelines().empty())
    report.not_checked(rule, std::string(reason));
  return !view.timelines().empty();
}

void tell_unknown_nodes(const SubjectView& view, Report& report, std::string_view rule) {
  std::size_t unknown = 0, all = 0;
  for (const GraphView& graph : view.graphs()) {
    unknown += graph.facts().unknown.size();
    all += graph.graph().nodes.size();
  }
  if (unknown > 0)
    report.not_checked(
        rule, fmt::format("{} of {} node{} no contract: what they read, write and establish is not known", unknown, all,
                          all == 1 ? " has" : "s have"));
}

std::vector<NodeId> nodes_of_kind(const Graph& graph, NodeKind kind) {
  std::vector<NodeId> nodes;
  for (NodeId node = 0; node < graph.nodes.size(); ++node)
    if (graph.nodes[node].kind == kind) nodes.push_back(node);
  return nodes;
}

}  // namespace refrain
