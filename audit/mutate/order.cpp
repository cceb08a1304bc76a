// What runs at another time: a giver behind its consumer, or beside it.
#include <fmt/format.h>

#include <algorithm>

#include "audit/mutate/edit.hpp"
#include "audit/mutate/operators.hpp"
#include "audit/mutate/paths.hpp"

namespace refrain::mutate {
namespace {

bool conflict(const NodeAccess& a, const NodeAccess& b) {
  if (a.buffer != b.buffer || !a.range.overlaps(b.range)) return false;
  if (a.mode == Mode::accumulate && b.mode == Mode::accumulate) return false;
  return a.mode != Mode::read || b.mode != Mode::read;
}

bool conflict(const Node& a, const Node& b) {
  for (const NodeAccess& x : a.accesses)
    for (const NodeAccess& y : b.accesses)
      if (conflict(x, y)) return true;
  return false;
}

bool leaves_for(const Node& giver, const Node& consumer) {
  for (const NodeClaim& give : giver.gives)
    for (const NodeClaim& need : consumer.needs)
      if (give.buffer == need.buffer && give.range.overlaps(need.range)) return true;
  for (const NodeAccess& write : giver.accesses)
    for (const NodeAccess& read : consumer.accesses)
      if (write.mode != Mode::read && read.mode != Mode::write && write.buffer == read.buffer &&
          write.range.overlaps(read.range))
        return true;
  return false;
}

/// A node that waits for several branches would lose several orders at once.
bool waits_once(const Graph& graph, NodeId node) {
  return std::count_if(graph.edges.begin(), graph.edges.end(), [&](const Edge& edge) { return edge.to == node; }) == 1;
}

/// The node runs beside `other`: from where that starts to where the node was joined.
void put_beside(Graph& graph, NodeId node, NodeId other) {
  std::vector<NodeId> before, after;
  for (const Edge& edge : graph.edges) {
    if (edge.to == other) before.push_back(edge.from);
    if (edge.from == node) after.push_back(edge.to);
  }
  take_out(graph, node);
  for (const NodeId from : before) graph.edges.push_back({from, node, EdgeKind::full});
  for (const NodeId to : after) graph.edges.push_back({node, to, EdgeKind::full});
}

}  // namespace

Sites move_givers(const Graph& clean, Random&) {
  Sites sites;
  const Paths paths(clean);
  for (NodeId giver = 0; giver < clean.nodes.size(); ++giver)
    for (NodeId consumer = 0; consumer < clean.nodes.size(); ++consumer)
      if (paths.lead(giver, consumer) && leaves_for(clean.nodes[giver], clean.nodes[consumer]))
        sites.push_back({fmt::format("move {} behind {}", describe(clean, giver), describe(clean, consumer)),
                         [giver, consumer](Graph& graph) {
                           take_out(graph, giver);
                           put_behind(graph, giver, consumer);
                         }});
  return sites;
}

Sites unorder_pairs(const Graph& clean, Random&) {
  Sites sites;
  const Paths paths(clean);
  for (NodeId first = 0; first < clean.nodes.size(); ++first)
    for (NodeId second = 0; second < clean.nodes.size(); ++second)
      if (paths.lead(first, second) && waits_once(clean, second) && conflict(clean.nodes[first], clean.nodes[second]))
        sites.push_back({fmt::format("put {} beside {}", describe(clean, second), describe(clean, first)),
                         [first, second](Graph& graph) { put_beside(graph, second, first); }});
  return sites;
}

}  // namespace refrain::mutate
