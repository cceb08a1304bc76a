#include "tests/audit/facts_reference.hpp"

#include <algorithm>
#include <optional>

namespace refrain::test {
namespace {

using Reach2d = std::vector<std::vector<bool>>;

// Warshall's closure: reach[a][b] when a path leads from a to b.
Reach2d closure_of(const Graph& graph) {
  const std::size_t n = graph.nodes.size();
  Reach2d reach(n, std::vector<bool>(n, false));
  for (const Edge& edge : graph.edges) reach[edge.from][edge.to] = true;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (reach[i][k] && reach[k][j]) reach[i][j] = true;
  return reach;
}

bool has(ByteRange range, std::uint64_t byte) {
  return range.begin <= byte && byte < range.end;
}

bool implies(Fact given, Fact wanted) {
  return given == wanted || (given == Fact::zeroed && (wanted == Fact::written || wanted == Fact::finite));
}

/// One byte of one buffer.
class ByteJudge {
 public:
  ByteJudge(const Graph& graph, const Reach2d& reach, BufferId buffer, std::uint64_t byte)
      : graph_(graph), reach_(reach), buffer_(buffer), byte_(byte) {}

  bool holds(NodeId consumer, Fact fact) const {
    return fact == Fact::written ? is_written(consumer) : is_kept(consumer, fact);
  }

 private:
  bool writes(NodeId node, bool exactly) const {
    for (const NodeAccess& access : graph_.nodes[node].accesses)
      if (access.buffer == buffer_ && has(access.range, byte_) && access.mode != Mode::read &&
          (!exactly || access.reach == Reach::exact))
        return true;
    return false;
  }
  bool gives(NodeId node, Fact fact) const {
    for (const NodeClaim& claim : graph_.nodes[node].gives)
      if (claim.buffer == buffer_ && has(claim.range, byte_) && implies(claim.fact, fact)) return true;
    return false;
  }
  // Other graphs write shared memory between two replays: written it is then, and nothing else.
  bool stays(Fact fact) const { return fact == Fact::written || !graph_.buffers[buffer_].shared; }
  bool at_start(Fact fact, bool every_replay) const {
    for (const EntryFact& entry : graph_.entry)
      if (entry.buffer == buffer_ && has(entry.range, byte_) && implies(entry.fact, fact) &&
          (entry.origin == Origin::host_each_launch || (!every_replay && stays(fact))))
        return true;
    return false;
  }

  // Any node before the consumer that is sure to write the byte, or any start.
  bool is_written(NodeId consumer) const {
    if (at_start(Fact::written, false)) return true;
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      if (reach_[node][consumer] && (writes(node, true) || gives(node, Fact::written))) return true;
    return false;
  }

  std::vector<NodeId> writers_before(std::optional<NodeId> consumer) const {
    std::vector<NodeId> writers;
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      if (writes(node, false) && (!consumer || reach_[node][*consumer])) writers.push_back(node);
    return writers;
  }
  // Of these writers, no last one leaves the byte without the fact.
  bool all_last_give(const std::vector<NodeId>& writers, Fact fact) const {
    return std::all_of(writers.begin(), writers.end(), [&](NodeId node) {
      const bool is_last =
          std::none_of(writers.begin(), writers.end(), [&](NodeId other) { return reach_[node][other]; });
      return !is_last || gives(node, fact);
    });
  }

  bool is_kept(NodeId consumer, Fact fact) const {
    for (NodeId node = 0; node < graph_.nodes.size(); ++node)
      if (node != consumer && writes(node, false) && !reach_[node][consumer] && !reach_[consumer][node]) return false;
    const auto before = writers_before(consumer);
    if (!before.empty()) return all_last_give(before, fact);
    if (at_start(fact, true)) return true;
    return at_start(fact, false) && all_last_give(writers_before(std::nullopt), fact);
  }

  const Graph& graph_;
  const Reach2d& reach_;
  BufferId buffer_;
  std::uint64_t byte_;
};

bool conflict(const NodeAccess& a, const NodeAccess& b) {
  if (a.buffer != b.buffer || !a.range.overlaps(b.range)) return false;
  if (a.mode == Mode::read && b.mode == Mode::read) return false;
  return !(a.mode == Mode::accumulate && b.mode == Mode::accumulate);
}

}  // namespace

FailedNeeds reference_failures(const Graph& graph) {
  const Reach2d reach = closure_of(graph);
  FailedNeeds failed;
  const auto judge = [&](NodeId node, Fact fact, BufferId buffer, ByteRange range) {
    for (std::uint64_t byte = range.begin; byte < range.end; ++byte)
      if (!ByteJudge(graph, reach, buffer, byte).holds(node, fact))
        failed.insert({node, fact, buffer, range.begin, range.end});
  };
  for (NodeId node = 0; node < graph.nodes.size(); ++node) {
    for (const NodeClaim& need : graph.nodes[node].needs) judge(node, need.fact, need.buffer, need.range);
    for (const NodeAccess& access : graph.nodes[node].accesses)
      if (access.mode != Mode::write) judge(node, Fact::written, access.buffer, access.range);
  }
  return failed;
}

Races reference_races(const Graph& graph, bool exact_only) {
  const Reach2d reach = closure_of(graph);
  Races races;
  for (NodeId a = 0; a < graph.nodes.size(); ++a)
    for (NodeId b = a + 1; b < graph.nodes.size(); ++b) {
      if (reach[a][b] || reach[b][a]) continue;
      for (const NodeAccess& x : graph.nodes[a].accesses)
        for (const NodeAccess& y : graph.nodes[b].accesses)
          if (conflict(x, y) && (!exact_only || (x.reach == Reach::exact && y.reach == Reach::exact)))
            races.insert({a, b, x.buffer});
    }
  return races;
}

}  // namespace refrain::test
