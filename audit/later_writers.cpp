#include "audit/later_writers.hpp"

#include <algorithm>
#include <tuple>

namespace refrain {
namespace {

bool hit_less(const LaterWriters::Hit& a, const LaterWriters::Hit& b) {
  return std::tie(a.node, a.segment) < std::tie(b.node, b.segment);
}

bool needs_more_than_written(const Graph& graph) {
  for (const Node& node : graph.nodes)
    for (const NodeClaim& need : node.needs)
      if (need.fact != Fact::written) return true;
  return false;
}

}  // namespace

void written_segments(const Node& node, const Segments& segments, std::vector<std::size_t>& into) {
  into.clear();
  const auto add = [&](BufferId buffer, ByteRange range) {
    const auto [first, last] = segments.of(buffer, range);
    for (std::size_t segment = first; segment < last; ++segment) into.push_back(segment);
  };
  for (const NodeAccess& access : node.accesses)
    if (access.mode != Mode::read) add(access.buffer, access.range);
  for (const NodeClaim& claim : node.gives) add(claim.buffer, claim.range);
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

LaterWriters::LaterWriters(const Graph& graph, const Topology& topology, const Segments& segments) {
  // In a chain nothing is parallel; and `written` does not mind a parallel write (that is a race, no more).
  if (topology.chain_count() <= 1 || !needs_more_than_written(graph)) return;
  sweep(graph, topology, segments);
  std::sort(hits_.begin(), hits_.end(), hit_less);
}

void LaterWriters::sweep(const Graph& graph, const Topology& topology, const Segments& segments) {
  std::vector<std::vector<NodeId>> earliest(segments.size());
  std::vector<std::size_t> touched;
  const auto order = topology.order();
  for (std::size_t i = order.size(); i-- > 0;) {
    const NodeId node = order[i];
    for (const NodeClaim& need : graph.nodes[node].needs) {
      if (need.fact == Fact::written) continue;
      const auto [first, last] = segments.of(need.buffer, need.range);
      for (std::size_t segment = first; segment < last; ++segment) {
        const auto parallel = std::find_if(earliest[segment].begin(), earliest[segment].end(),
                                           [&](NodeId writer) { return !topology.before(node, writer); });
        if (parallel != earliest[segment].end()) hits_.push_back({node, segment, *parallel});
      }
    }
    written_segments(graph.nodes[node], segments, touched);
    for (const std::size_t segment : touched) {
      std::erase_if(earliest[segment], [&](NodeId writer) { return topology.before(node, writer); });
      earliest[segment].push_back(node);
    }
  }
}

std::optional<NodeId> LaterWriters::of(NodeId node, std::size_t segment) const {
  const auto at = std::lower_bound(hits_.begin(), hits_.end(), Hit{node, segment, 0}, hit_less);
  if (at == hits_.end() || at->node != node || at->segment != segment) return std::nullopt;
  return at->writer;
}

}  // namespace refrain
