// Changes to a graph that keep it a graph: ids stay dense and no cycle comes up.
// Plain functions on data; they know nothing of rules.
#pragma once

#include "graphs/graph.hpp"

namespace refrain::mutate {

/// The node is as if it had never been launched: what came before it is followed by what came after. Ids above it
/// move down by one.
void remove_node(Graph& graph, NodeId node);

/// The node keeps its id and loses its place: what came before it is followed by what came after.
void take_out(Graph& graph, NodeId node);

/// A node that was taken out runs right behind `before`, ahead of all that followed that.
void put_behind(Graph& graph, NodeId node, NodeId before);

/// A new node runs right ahead of `after`, behind all that preceded it. Returns its id, the last one.
NodeId put_ahead(Graph& graph, Node node, NodeId after);

/// A page that no buffer of the graph touches, above them all.
[[nodiscard]] Address beyond(const Graph& graph);

}  // namespace refrain::mutate
