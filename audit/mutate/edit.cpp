#include "audit/mutate/edit.hpp"

#include <algorithm>
#include <utility>

namespace refrain::mutate {
namespace {

void add_once(Graph& graph, NodeId from, NodeId to) {
  const bool there = std::any_of(graph.edges.begin(), graph.edges.end(),
                                 [&](const Edge& edge) { return edge.from == from && edge.to == to; });
  if (!there) graph.edges.push_back({from, to, EdgeKind::full});
}

}  // namespace

Address beyond(const Graph& graph) {
  Address end = 0;
  for (const Buffer& buffer : graph.buffers) end = std::max(end, buffer.base + buffer.bytes);
  return (end | 0xFFF) + 1;
}

void take_out(Graph& graph, NodeId node) {
  std::vector<NodeId> before, after;
  for (const Edge& edge : graph.edges) {
    if (edge.to == node) before.push_back(edge.from);
    if (edge.from == node) after.push_back(edge.to);
  }
  std::erase_if(graph.edges, [&](const Edge& edge) { return edge.from == node || edge.to == node; });
  for (const NodeId from : before)
    for (const NodeId to : after) add_once(graph, from, to);
}

void remove_node(Graph& graph, NodeId node) {
  take_out(graph, node);
  graph.nodes.erase(graph.nodes.begin() + node);
  for (Edge& edge : graph.edges)
    for (NodeId* end : {&edge.from, &edge.to})
      if (*end > node) --*end;
}

void put_behind(Graph& graph, NodeId node, NodeId before) {
  for (Edge& edge : graph.edges)
    if (edge.from == before) edge = {node, edge.to, EdgeKind::full};
  graph.edges.push_back({before, node, EdgeKind::full});
}

NodeId put_ahead(Graph& graph, Node node, NodeId after) {
  const NodeId id = static_cast<NodeId>(graph.nodes.size());
  graph.nodes.push_back(std::move(node));
  for (Edge& edge : graph.edges)
    if (edge.to == after) edge = {edge.from, id, EdgeKind::full};
  graph.edges.push_back({id, after, EdgeKind::full});
  return id;
}

}  // namespace refrain::mutate
