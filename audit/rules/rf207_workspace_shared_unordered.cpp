// RF207: two branches of a graph that nothing orders use one workspace. Where
// contracts tell who writes, both write it: each branch takes it for its own
// (shared_workspace() says so, and rule 307 leaves such races to this one). A
// writer and a reader with no order miss an edge, and are 307's. Where a kernel
// has no contract, its arguments tell that it names the workspace: a warning.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/rules/address_index.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/param_words.hpp"
#include "audit/rules/shared_workspace.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

/// How the two nodes are known to use it.
enum class Known : std::uint8_t { exactly, through_an_index, by_arguments };

void report_pair(const GraphView& view, NodeId a, NodeId b, BufferId buffer, Known known, std::uint64_t count,
                 Report& report) {
  const Graph& graph = view.graph();
  const bool sure = known != Known::by_arguments;
  Finding finding = new_finding("RF207", view, sure ? Certainty::contract : Certainty::inferred);
  if (known != Known::exactly) finding.severity = Severity::warning;
  finding.count = count;
  finding.nodes = {a, b};
  finding.where = place(view, finding.nodes, {name_of(graph, buffer)});
  finding.message = fmt::format("{} and {} {} workspace {}, with no order between the two: {}", describe(graph, a),
                                describe(graph, b), sure ? "both write" : "are both handed", name_of(graph, buffer),
                                sure ? "when they run at once, one finds the partial results of the other"
                                     : "if both write it, one finds the partial results of the other");
  if (!sure) finding.evidence.push_back("a kernel without a contract is known by its arguments only: it may just read");
  if (known == Known::through_an_index)
    finding.evidence.push_back(
        "at least one goes through an index in memory: they may touch different bytes of the range");
  if (count > 1) finding.evidence.push_back(fmt::format("{} pairs of nodes are hit", count));
  finding.fix = fmt::format("give each branch a workspace of its own, or order {} and {} by one stream or an event",
                            describe(graph, a), describe(graph, b));
  report.add(std::move(finding),
             std::vector<std::string>{name_of(graph.nodes[a]), name_of(graph.nodes[b]), name_of(graph, buffer)});
}

/// Kernels by the workspace that they name, those without a contract by their arguments.
std::map<BufferId, std::vector<NodeId>> users_of(const Graph& graph) {
  std::map<BufferId, std::vector<NodeId>> users;
  AddressIndex workspaces;
  for (BufferId id = 0; id < graph.buffers.size(); ++id)
    if (is_workspace(graph.buffers[id].role) && !graph.buffers[id].died)
      workspaces.add(graph.buffers[id].base, graph.buffers[id].base + graph.buffers[id].bytes, id);
  const auto add = [&](BufferId buffer, NodeId node) {
    auto& nodes = users[buffer];
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  };
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    for (const NodeAccess& access : node.accesses)
      if (access.mode != Mode::read && is_workspace(graph.buffers[access.buffer].role)) add(access.buffer, id);
    if (!node.has_contract && node.kind == NodeKind::kernel)
      each_param_word(node, [&](std::size_t, std::uint64_t, Address word) {
        workspaces.each(word, word + 1, [&](BufferId buffer) { add(buffer, id); });
      });
  }
  return users;
}

/// In topological order, users that are pairwise ordered are ordered one after the other, so neighbours tell all.
void check_by_arguments(const GraphView& view, Report& report) {
  const Graph& graph = view.graph();
  const auto unknown = [&](NodeId node) { return !graph.nodes[node].has_contract; };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& n) { return !n.params.empty(); })) return;
  for (auto& [buffer, nodes] : users_of(graph)) {
    std::sort(nodes.begin(), nodes.end(),
              [&](NodeId a, NodeId b) { return view.topology().position(a) < view.topology().position(b); });
    for (std::size_t i = 1; i < nodes.size(); ++i)
      if ((unknown(nodes[i - 1]) || unknown(nodes[i])) && !view.topology().before(nodes[i - 1], nodes[i])) {
        report_pair(view, nodes[i - 1], nodes[i], buffer, Known::by_arguments, 1, report);
        break;
      }
  }
}

}  // namespace

void check_rf207(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF207")) return;
  tell_unknown_nodes(view, report, "RF207");
  for (const GraphView& graph_view : view.graphs()) {
    for (const auto& group : graph_view.causes().races)
      if (const Race* race = shared_workspace(graph_view.graph(), group))
        report_pair(graph_view, race->a, race->b, race->buffer, race->exact ? Known::exactly : Known::through_an_index,
                    group.size(), report);
    check_by_arguments(graph_view, report);
  }
}

}  // namespace refrain
