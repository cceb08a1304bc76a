#include "audit/rules/failed_needs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "audit/rules/need_words.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

// For the fingerprint: what makes this the same fault in the next run.
std::vector<std::string> names_of(const Graph& graph, const Failure& lead, const std::vector<std::string>& buffers) {
  std::vector<std::string> names = {to_string(lead.kind), to_string(lead.fact), name_of(graph.nodes[lead.node]),
                                    lead.giver ? name_of(graph.nodes[*lead.giver]) : ""};
  names.insert(names.end(), buffers.begin(), buffers.end());
  return names;
}

void report_cause(const GraphView& view, Report& report, std::string_view rule, const Causes::Group& group) {
  const Graph& graph = view.graph();
  const Failure& lead = *group.front();
  Finding finding = new_finding(rule, view, Certainty::contract);
  finding.count = group.size();
  std::vector<std::string> buffers;
  std::set<std::string> seen;
  std::set<NodeId> consumers;
  for (const Failure* failure : group) {
    if (consumers.insert(failure->node).second) finding.nodes.push_back(failure->node);
    if (auto name = name_of(graph, failure->buffer); seen.insert(name).second) buffers.push_back(std::move(name));
  }
  finding.where = place(view, finding.nodes, buffers);
  finding.message = need_message(graph, lead);
  finding.evidence = need_evidence(graph, lead);
  if (buffers.size() > 1)
    finding.evidence.push_back(fmt::format("{} buffers are hit: {}", buffers.size(), list_names(buffers)));
  if (consumers.size() > 1)
    finding.evidence.push_back(fmt::format("{} nodes are hit: {}", consumers.size(), list_nodes(graph, finding.nodes)));
  finding.fix = need_fix(graph, lead);
  report.add(std::move(finding), names_of(graph, lead, buffers));
}

void tell_open(const GraphView& view, Report& report, std::string_view rule, bool (*mine)(const Failure&)) {
  const auto& open = view.causes().open;
  const auto is_mine = [&](const Failure* failure) { return mine(*failure); };
  const auto first = std::find_if(open.begin(), open.end(), is_mine);
  if (first == open.end()) return;
  const Graph& graph = view.graph();
  const Failure& failure = **first;
  const auto others = std::count_if(first + 1, open.end(), is_mine);
  report.not_checked(
      rule, fmt::format("{}: whether {} is {} before {} hangs on {}{}", place(view), name_of(graph, failure.buffer),
                        state_word(failure.fact), describe(graph, failure.node),
                        failure.unknown ? describe(graph, *failure.unknown) + ", which has no contract"
                                        : "the graph around this body",
                        others > 0 ? fmt::format(" ({} more such needs)", others) : ""));
}

}  // namespace

void report_failed_needs(const SubjectView& view, Report& report, std::string_view rule, bool (*mine)(const Failure&),
                         bool (*elsewhere)(const GraphView&, const Failure&)) {
  if (!has_graphs(view, report, rule)) return;
  tell_unknown_nodes(view, report, rule);
  for (const GraphView& graph : view.graphs()) {
    for (const Causes::Group& group : graph.causes().groups)
      if (mine(*group.front()) && (elsewhere == nullptr || !elsewhere(graph, *group.front())))
        report_cause(graph, report, rule, group);
    tell_open(graph, report, rule, mine);
  }
}

}  // namespace refrain
