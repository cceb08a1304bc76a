// RF203: an allocation node whose memory no free node of the same graph gives
// back. A timeline can clear it: a cudaFree of that address between two launches
// is a legal way to do so.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/graph_lives.hpp"
#include "audit/rules/checks.hpp"
#include "audit/rules/words.hpp"

namespace refrain {
namespace {

/// Free nodes of a graph and its bodies.
struct Frees {
  std::map<Address, std::size_t> by_address;
  std::size_t unseen = 0;

  void add(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      for (const Graph& body : node.bodies) add(body);
      if (node.kind != NodeKind::mem_free) continue;
      if (node.allocation && node.allocation->address != 0)
        ++by_address[node.allocation->address];
      else
        ++unseen;
    }
  }

  bool take(Address address) {
    if (const auto known = by_address.find(address); known != by_address.end() && known->second > 0) {
      --known->second;
      return true;
    }
    return false;
  }

  /// For an allocation whose address is not shown: any free node may be its own.
  bool take_any() {
    if (unseen > 0) {
      --unseen;
      return true;
    }
    const auto any = std::find_if(by_address.begin(), by_address.end(), [](const auto& f) { return f.second > 0; });
    return any != by_address.end() && take(any->first);
  }
};

Address address_of(const Node& node) {
  return node.allocation ? node.allocation->address : 0;
}

std::uint64_t launches_of(const GraphLife& life) {
  std::uint64_t most = 0;
  for (const ExecLife& exec : life.execs) most = std::max<std::uint64_t>(most, exec.launches.size());
  return most;
}

/// The program gave `address` back after launches of the graph, once for every one that another followed.
bool freed_outside(const Timeline& timeline, const GraphLife& life, Address address) {
  std::vector<std::uint64_t> launches;
  for (const ExecLife& exec : life.execs)
    for (const ApiEvent* launch : exec.launches) launches.push_back(launch->sequence);
  if (launches.empty() || address == 0) return false;
  const auto first = *std::min_element(launches.begin(), launches.end());
  const auto frees = std::count_if(timeline.calls.begin(), timeline.calls.end(), [&](const ApiEvent& call) {
    return (call.api == Api::free || call.api == Api::free_async) && ran_at_once(call) && call.address == address &&
           call.sequence > first;
  });
  return frees > 0 && static_cast<std::size_t>(frees) + 1 >= launches.size();
}

std::vector<NodeId> unbalanced(const GraphView& view, Frees& frees, const GraphLife* life) {
  const Graph& graph = view.graph();
  std::vector<NodeId> open, left;
  const auto allocs = nodes_of_kind(graph, NodeKind::mem_alloc);
  for (const NodeId node : allocs)
    if (const Address address = address_of(graph.nodes[node]); address == 0 || !frees.take(address))
      open.push_back(node);
  for (const NodeId node : open) {
    const Address address = address_of(graph.nodes[node]);
    if (address == 0 ? frees.take_any() : frees.unseen > 0 && frees.take_any()) continue;
    if (life != nullptr && freed_outside(view.recording().timeline, *life, address)) continue;
    left.push_back(node);
  }
  return left;
}

void report_nodes(const GraphView& view, const std::vector<NodeId>& nodes, std::uint64_t launches, Report& report) {
  const Graph& graph = view.graph();
  Finding finding = new_finding("RF203", view, Certainty::proven);
  if (launches > 1) finding.severity = Severity::error;
  std::uint64_t bytes = 0;
  for (const NodeId node : nodes)
    if (graph.nodes[node].allocation) bytes += graph.nodes[node].allocation->bytes;
  finding.count = nodes.size();
  finding.nodes = nodes;
  finding.where = place(view, nodes);
  finding.message = fmt::format(
      "{} allocation node{} no free node in the graph: the memory of a launch outlives it, and a second launch fails "
      "unless "
      "the program freed it in between or instantiated with cudaGraphInstantiateFlagAutoFreeOnLaunch",
      nodes.size(), nodes.size() == 1 ? " has" : "s have");
  finding.evidence.push_back(bytes > 0 ? fmt::format("{} bytes in all", bytes)
                                       : std::string("the input does not say how many bytes"));
  if (launches > 1) finding.evidence.push_back(fmt::format("one graph exec was launched {} times", launches));
  finding.fix = fmt::format(
      "free the memory of {} inside the captured region, with cudaFreeAsync after its last use, or "
      "allocate it before the capture",
      describe(graph, nodes.front()));
  report.add(std::move(finding), std::vector<std::string>{"mem_alloc"});
}

}  // namespace

void check_rf203(const SubjectView& view, Report& report) {
  if (!has_graphs(view, report, "RF203")) return;
  const GraphLives lives(view);
  Frees frees;
  for (std::size_t i = 0; i < view.graphs().size(); ++i) {
    const GraphView& graph = view.graphs()[i];
    if (!graph.parent()) {
      frees = {};
      frees.add(graph.graph());
    }
    const GraphLife* life = lives.of(i);
    if (const auto nodes = unbalanced(graph, frees, life); !nodes.empty())
      report_nodes(graph, nodes, life != nullptr ? launches_of(*life) : 0, report);
  }
}

}  // namespace refrain
