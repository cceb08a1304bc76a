#include "audit/rules/shared_workspace.hpp"

#include <algorithm>

namespace refrain {
namespace {

bool writes(const Node& node, const Race& race) {
  return std::any_of(node.accesses.begin(), node.accesses.end(), [&](const NodeAccess& access) {
    return access.buffer == race.buffer && access.mode != Mode::read && access.range.overlaps(race.range);
  });
}

bool on_workspace(const Graph& graph, const Race& race) {
  if (is_workspace(graph.buffers[race.buffer].role)) return true;
  const auto names_it = [&](NodeId node) {
    const auto& accesses = graph.nodes[node].accesses;
    return std::any_of(accesses.begin(), accesses.end(), [&](const NodeAccess& access) {
      return access.buffer == race.buffer && is_workspace(access.role);
    });
  };
  return names_it(race.a) && names_it(race.b);
}

}  // namespace

const Race* shared_workspace(const Graph& graph, const std::vector<const Race*>& group) {
  const Race* lead = nullptr;
  for (const Race* race : group) {
    if (!on_workspace(graph, *race)) return nullptr;
    const bool both = writes(graph.nodes[race->a], *race) && writes(graph.nodes[race->b], *race);
    if (both && (lead == nullptr || (race->exact && !lead->exact))) lead = race;
  }
  return lead;
}

}  // namespace refrain
