// Small graphs for the tests, written as a list of nodes and edges. Each buffer
// is 64 bytes unless said, and every node has a contract unless it is made by
// unknown().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "audit/audit.hpp"
#include "graphs/graph.hpp"

namespace refrain::test {

inline constexpr ByteRange kAll{0, 64};

inline Node op(std::string name, std::vector<NodeAccess> accesses = {}, std::vector<NodeClaim> needs = {},
               std::vector<NodeClaim> gives = {}) {
  Node node;
  node.name = node.op = std::move(name);
  node.has_contract = true;
  node.accesses = std::move(accesses);
  node.needs = std::move(needs);
  node.gives = std::move(gives);
  return node;
}

inline Node unknown(std::string name) {
  Node node;
  node.name = std::move(name);
  return node;
}

inline NodeAccess touch(BufferId buffer, Mode mode, ByteRange range = kAll, Reach reach = Reach::exact) {
  NodeAccess access;
  access.buffer = buffer;
  access.range = range;
  access.mode = mode;
  access.reach = reach;
  return access;
}

/// Writes zeros: a write and the fact.
inline Node zeroes(BufferId buffer, ByteRange range = kAll) {
  return op("zero", {touch(buffer, Mode::write, range)}, {}, {{Fact::zeroed, buffer, range}});
}
/// Adds to a scratch that must start from zero.
inline Node counts(BufferId buffer, ByteRange range = kAll) {
  return op("count", {touch(buffer, Mode::accumulate, range)}, {{Fact::zeroed, buffer, range}});
}

inline Graph graph_of(std::vector<Node> nodes, const std::vector<std::pair<NodeId, NodeId>>& edges,
                      std::size_t buffers = 1) {
  Graph graph;
  graph.name = std::string(1, 'g');
  graph.nodes = std::move(nodes);
  for (const auto& [from, to] : edges) graph.edges.push_back({from, to, EdgeKind::full});
  for (std::size_t i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.name = "buffer_a";
    buffer.name.back() = static_cast<char>('a' + i);
    buffer.base = 0x1000 * (i + 1);
    buffer.bytes = 64;
    graph.buffers.push_back(buffer);
  }
  return graph;
}

/// Graphs alone, as a file without a timeline would bring them.
inline Report audit_graphs(std::vector<Graph> graphs, std::string name = "graphs") {
  return audit(Subject{{{std::move(name), std::move(graphs), {}, false}}});
}

}  // namespace refrain::test
