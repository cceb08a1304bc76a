#include "audit/givers.hpp"

#include <algorithm>

#include "audit/fact_mask.hpp"

namespace refrain {

Givers::Givers(const Graph& graph, const Topology& topology) : topology_(topology) {
  for (auto& buffers : by_fact_) buffers.resize(graph.buffers.size());
  for (const NodeId node : topology.order()) {
    for (const NodeAccess& access : graph.nodes[node].accesses)
      if (writes_all(access.mode, access.reach)) add(node, Fact::written, access.buffer, access.range);
    for (const NodeClaim& claim : graph.nodes[node].gives)
      for (const Fact fact : {Fact::zeroed, Fact::written, Fact::pad_fixed, Fact::finite})
        if (closure(claim.fact) & bit(fact)) add(node, fact, claim.buffer, claim.range);
  }
}

void Givers::add(NodeId node, Fact fact, BufferId buffer, ByteRange range) {
  if (!range.empty()) by_fact_[static_cast<std::size_t>(fact)][buffer].push_back({node, range});
}

const std::vector<Givers::Giver>& Givers::of(Fact fact, BufferId buffer) const {
  return by_fact_[static_cast<std::size_t>(fact)][buffer];
}

std::size_t Givers::from(const std::vector<Giver>& givers, NodeId node) const {
  const auto at = std::lower_bound(
      givers.begin(), givers.end(), topology_.position(node),
      [&](const Giver& giver, std::uint32_t position) { return topology_.position(giver.node) < position; });
  return static_cast<std::size_t>(at - givers.begin());
}

std::optional<NodeId> Givers::before(NodeId consumer, Fact fact, BufferId buffer, ByteRange range) const {
  const auto& givers = of(fact, buffer);
  for (std::size_t i = from(givers, consumer); i-- > 0;)
    if (givers[i].range.overlaps(range) && topology_.before(givers[i].node, consumer)) return givers[i].node;
  return std::nullopt;
}

std::optional<NodeId> Givers::not_before(NodeId consumer, Fact fact, BufferId buffer, ByteRange range) const {
  const auto& givers = of(fact, buffer);
  const std::size_t here = from(givers, consumer);
  for (std::size_t i = here; i < givers.size(); ++i)
    if (givers[i].node != consumer && givers[i].range.overlaps(range)) return givers[i].node;
  for (std::size_t i = here; i-- > 0;)
    if (givers[i].range.overlaps(range) && !topology_.before(givers[i].node, consumer)) return givers[i].node;
  return std::nullopt;
}

bool Givers::gives(NodeId node, Fact fact, BufferId buffer, ByteRange range) const {
  const auto& givers = of(fact, buffer);
  for (std::size_t i = from(givers, node); i < givers.size() && givers[i].node == node; ++i)
    if (givers[i].range.overlaps(range)) return true;
  return false;
}

}  // namespace refrain
